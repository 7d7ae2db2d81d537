/* SPDX-License-Identifier: MIT */
/* The pool: segments from malloc(), filled one after another. */
#include "cli/symbols/text_pool.h"

#include <stdlib.h>
#include <string.h>

#define SEGMENT_BYTES (64u << 10)

struct segment {
	struct segment *next;
	char bytes[];
};

void *text_pool_memory(struct text_pool *pool, size_t bytes)
{
	bytes = (bytes + 7) & ~(size_t)7;
	if (pool->free_bytes < bytes) {
		size_t room = bytes > SEGMENT_BYTES ? bytes : SEGMENT_BYTES;
		struct segment *segment = malloc(sizeof(*segment) + room);

		if (!segment)
			return NULL;
		segment->next = pool->segments;
		pool->segments = segment;
		pool->free_bytes = pool->segment_bytes = room;
	}
	pool->free_bytes -= bytes;
	return pool->segments->bytes + pool->segment_bytes - pool->free_bytes - bytes;
}

void text_pool_release(struct text_pool *pool)
{
	while (pool->segments) {
		struct segment *next = pool->segments->next;

		free(pool->segments);
		pool->segments = next;
	}
}

const char *text_pool_add(struct text_pool *pool, const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = text_pool_memory(pool, bytes);

	return copy ? memcpy(copy, text, bytes) : NULL;
}
