/* SPDX-License-Identifier: MIT */
/* Write quoted text. label_clean() turns names of any bytes into text that all readers accept. */
#include "cli/formats/quoted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "render/label.h"

/* Longest result of label_clean() for a name of @bytes, with its NUL. */
#define CLEAN_BYTES(bytes) (3 * (bytes) + 8)

int quoted_put(FILE *out, const char *text, size_t bytes, enum quoted_as as)
{
	char *copy = strndup(text, bytes), *clean = NULL;

	if (copy) {
		bytes = strlen(copy);
		clean = malloc(CLEAN_BYTES(bytes));
	}
	if (!clean) {
		free(copy);
		return -ENOMEM;
	}
	label_clean(clean, CLEAN_BYTES(bytes), copy);
	putc('"', out);
	for (const char *at = clean; *at; at++) {
		if (*at == '"')
			putc(as == QUOTED_CSV ? '"' : '\\', out);
		else if (*at == '\\' && as == QUOTED_JSON)
			putc('\\', out);
		putc(*at, out);
	}
	putc('"', out);
	free(clean);
	free(copy);
	return 0;
}
