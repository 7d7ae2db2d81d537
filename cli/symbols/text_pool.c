/* SPDX-License-Identifier: MIT */
/* The pool: segments from malloc(), filled one after another, and a hash table of their texts. */
#include "cli/symbols/text_pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libprof/fnv.h"
#include "render/array.h"

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
	free(pool->texts);
	pages_release(&pool->account, &pool->lookup.slots);
}

static uint32_t hash_of(const char *text)
{
	return lookup_hash(fnv_text(FNV_BEGIN, text, SIZE_MAX));
}

/* Implements lookup_hash_fn. */
static uint32_t hash_text(const void *pool, uint32_t number)
{
	return hash_of(((const struct text_pool *)pool)->texts[number - 1]);
}

const char *text_pool_add(struct text_pool *pool, const char *text)
{
	size_t bytes = strlen(text) + 1;
	struct lookup_probe probe;
	uint32_t number;
	char *copy;

	pool->account.limit_bytes = SIZE_MAX;
	if (lookup_reserve(&pool->lookup, &pool->account, 1, hash_text, pool) ||
		ARRAY_GROW(pool->texts, pool->text_count, pool->text_room, 64))
		return NULL;
	probe = lookup_begin(&pool->lookup, hash_of(text));
	while ((number = lookup_next(&pool->lookup, &probe)))
		if (!strcmp(pool->texts[number - 1], text))
			return pool->texts[number - 1];
	copy = text_pool_memory(pool, bytes);
	if (!copy)
		return NULL;
	pool->texts[pool->text_count++] = memcpy(copy, text, bytes);
	lookup_put(&pool->lookup, &probe, pool->text_count);
	return copy;
}
