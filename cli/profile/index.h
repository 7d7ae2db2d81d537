/* SPDX-License-Identifier: MIT */
/*
 * A hash index over items the caller keeps in an array: it stores item numbers, the caller
 * compares. Open addressing, at most half full.
 */
#ifndef CLI_PROFILE_INDEX_H
#define CLI_PROFILE_INDEX_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

struct index {
	uint32_t *buckets; /* item + 1, 0 = empty */
	uint64_t *hashes;
	uint32_t size; /* a power of two, or 0 */
	uint32_t used;
};

typedef int index_equal_fn(const void *context, uint32_t item, const void *key);

static inline void index_release(struct index *index)
{
	free(index->buckets);
	free(index->hashes);
	*index = (struct index){0};
}

static inline uint64_t index_hash(uint64_t a, uint64_t b)
{
	uint64_t hash = (a ^ (b << 29 | b >> 35)) * 0x9e3779b97f4a7c15ULL;

	hash ^= hash >> 32;
	return hash * 0xd6e8feb86659fd93ULL;
}

/* The item equal to @key, or UINT32_MAX. */
static inline uint32_t index_find(const struct index *index, uint64_t hash, index_equal_fn *equal,
	const void *context, const void *key)
{
	for (uint64_t at = hash >> 20; index->size; at++) {
		uint32_t bucket = (uint32_t)at & (index->size - 1);

		if (!index->buckets[bucket])
			break;
		if (index->hashes[bucket] == hash && equal(context, index->buckets[bucket] - 1, key))
			return index->buckets[bucket] - 1;
	}
	return UINT32_MAX;
}

static inline void index_place(struct index *index, uint64_t hash, uint32_t item)
{
	uint32_t bucket = (uint32_t)(hash >> 20) & (index->size - 1);

	while (index->buckets[bucket])
		bucket = (bucket + 1) & (index->size - 1);
	index->buckets[bucket] = item + 1;
	index->hashes[bucket] = hash;
	index->used++;
}

/* Add @item, which index_find() did not find. Returns 0, or -ENOMEM with nothing changed. */
static inline int index_add(struct index *index, uint64_t hash, uint32_t item)
{
	if ((index->used + 1) * 2ULL > index->size) {
		struct index larger = {.size = index->size ? index->size * 2 : 1024};

		if (!larger.size)
			return -ENOMEM;
		larger.buckets = calloc(larger.size, sizeof(*larger.buckets));
		larger.hashes = malloc(larger.size * sizeof(*larger.hashes));
		if (!larger.buckets || !larger.hashes) {
			index_release(&larger);
			return -ENOMEM;
		}
		for (uint32_t i = 0; i < index->size; i++)
			if (index->buckets[i])
				index_place(&larger, index->hashes[i], index->buckets[i] - 1);
		index_release(index);
		*index = larger;
	}
	index_place(index, hash, item);
	return 0;
}

#endif
