/* SPDX-License-Identifier: MIT */
#include "render/count_text.h"

#include <inttypes.h>
#include <stdio.h>

void count_text(char *text, size_t bytes, uint64_t count)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, count);
	size_t used = 0;

	for (int i = 0; i < length && used + 2 < bytes; i++) {
		if (i && (length - i) % 3 == 0)
			text[used++] = ',';
		text[used++] = digits[i];
	}
	text[used] = '\0';
}
