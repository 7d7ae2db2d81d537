/* SPDX-License-Identifier: MIT */
/*
 * How a call tree lies in memory, for the files that build it: nodes and frames in growing arrays,
 * found again through open hash tables of their numbers. Everyone else sees render/calltree.h.
 */
#ifndef RENDER_CALLTREE_STORE_H
#define RENDER_CALLTREE_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "render/calltree.h"

/* Numbers + 1 by hash; 0 is an empty place. Never more than half full. */
struct calltree_index {
	uint32_t *places;
	uint32_t mask;
};

/* Names live in chunks that never move, so that readers may keep pointers. */
struct calltree_chunk {
	struct calltree_chunk *next;
	size_t used;
	size_t size;
	char bytes[];
};

struct calltree {
	int error;
	uint64_t weight;
	struct calltree_node *nodes;
	struct calltree_frame *frames;
	const char **threads;
	struct calltree_sample *samples;
	uint32_t node_count, node_room;
	uint32_t frame_count, frame_room;
	uint32_t thread_count, thread_room;
	size_t sample_count, sample_room;
	struct calltree_index node_index;
	struct calltree_index frame_index;
	struct calltree_chunk *chunks;
	const char *last_module; /* modules repeat in runs: one compare saves most copies */
};

static inline void calltree_poison(struct calltree *tree, int error)
{
	if (!tree->error)
		tree->error = error;
}

static inline uint64_t calltree_mix(uint64_t hash)
{
	hash ^= hash >> 32;
	hash *= UINT64_C(0xd6e8feb86659fd93);
	hash ^= hash >> 32;
	hash *= UINT64_C(0xd6e8feb86659fd93);
	return hash ^ hash >> 32;
}

/*
 * Room for one more element of @size bytes after @count; doubles. Returns the array, or NULL with
 * @tree poisoned and @array as it was.
 */
void *calltree_grow(struct calltree *tree, void *array, size_t count, size_t *room, size_t size);

/* Keep @text as long as @tree. Returns the copy, or NULL with @tree poisoned. */
char *calltree_keep(struct calltree *tree, const char *text);

/* Enter @number, which is not in yet. There is room: calltree_index_grow() came before. */
void calltree_index_put(struct calltree_index *index, uint64_t hash, uint32_t number);

/*
 * Make room for element @count. Returns 1 when the table was replaced by an empty one of twice the
 * size (the caller puts everything back), 0 when there was room, -ENOMEM.
 */
int calltree_index_grow(struct calltree_index *index, uint32_t count);

/* Make room for one more frame in the index. Returns 0 or -ENOMEM. */
int calltree_frame_index_grow(struct calltree *tree);

#endif
