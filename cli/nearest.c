/* SPDX-License-Identifier: MIT */
/*
 * Edit distance between short words: letters missing, extra, wrong, or two swapped.
 */
#include "cli/nearest.h"

#include <string.h>

#define WORD_MAX 48

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Optimal string alignment; three rows are all that is ever looked back at. */
static unsigned distance(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	unsigned rows[3][WORD_MAX + 1];

	for (size_t j = 0; j <= b_bytes; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= a_bytes; i++) {
		unsigned *row = rows[i % 3];
		const unsigned *above = rows[(i + 2) % 3];
		const unsigned *higher = rows[(i + 1) % 3];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_bytes; j++) {
			unsigned cost = a[i - 1] != b[j - 1];

			row[j] = least(above[j - 1] + cost, least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], higher[j - 2] + 1);
		}
	}
	return rows[a_bytes % 3][b_bytes];
}

void nearest_begin(struct nearest *nearest, const char *word, size_t bytes)
{
	*nearest = (struct nearest){.word = word, .bytes = bytes};
}

void nearest_offer(struct nearest *nearest, const char *candidate)
{
	size_t bytes = strlen(candidate);
	unsigned far, limit = bytes < 6 ? 1 : (unsigned)bytes / 3;

	if (!nearest->bytes || nearest->bytes > WORD_MAX || bytes > WORD_MAX)
		return;
	far = distance(nearest->word, nearest->bytes, candidate, bytes);
	if (far > limit || far >= bytes || (nearest->best && far >= nearest->distance))
		return;
	nearest->best = candidate;
	nearest->distance = far;
}
