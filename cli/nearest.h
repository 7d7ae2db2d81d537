/* SPDX-License-Identifier: MIT */
/*
 * Which known word a mistyped one may have meant.
 */
#ifndef CLI_NEAREST_H
#define CLI_NEAREST_H

#include <stddef.h>

struct nearest {
	const char *word; /* mistyped, borrowed */
	size_t bytes;
	const char *best; /* borrowed from what was offered; NULL: nothing is near */
	unsigned distance;
};

/* Begin to look for what the @bytes of @word may mean. */
void nearest_begin(struct nearest *nearest, const char *word, size_t bytes);

/*
 * Consider @candidate. It is near when a third of its letters or fewer, but at least one, would
 * have to be typed otherwise; the first of equally near ones stays.
 */
void nearest_offer(struct nearest *nearest, const char *candidate);

#endif
