/* SPDX-License-Identifier: MIT */
/*
 * Text between quotation marks, as JSON and CSV have it.
 */
#ifndef CLI_FORMATS_QUOTED_H
#define CLI_FORMATS_QUOTED_H

#include <stddef.h>
#include <stdio.h>

enum quoted_as {
	QUOTED_JSON,
	QUOTED_CSV
};

/*
 * Write the first @bytes of @text (any, or all before its NUL), made clean as label_clean() does:
 * what is no UTF-8, and controls, become U+FFFD. Each format doubles its own way what would end it.
 * Returns 0 or -ENOMEM; errors of @out stay with it.
 */
int quoted_put(FILE *out, const char *text, size_t bytes, enum quoted_as as);

#endif
