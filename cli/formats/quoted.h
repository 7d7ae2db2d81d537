/* SPDX-License-Identifier: MIT */
/* Write quoted text for JSON and CSV. */
#ifndef CLI_FORMATS_QUOTED_H
#define CLI_FORMATS_QUOTED_H

#include <stddef.h>
#include <stdio.h>

enum quoted_as {
	QUOTED_JSON,
	QUOTED_CSV
};

/*
 * Write at most the first @bytes of @text (any bytes, up to its NUL) in quotes, cleaned by
 * label_clean() and with quotes escaped as the format requires. Returns 0 or -ENOMEM; errors of
 * @out are left to ferror().
 */
int quoted_put(FILE *out, const char *text, size_t bytes, enum quoted_as as);

#endif
