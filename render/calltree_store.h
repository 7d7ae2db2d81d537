/* SPDX-License-Identifier: MIT */
/*
 * How a call tree lies in memory, for the files that build it: nodes and frames in growing arrays,
 * found again through lookups of their numbers. Everyone else sees render/calltree.h.
 */
#ifndef RENDER_CALLTREE_STORE_H
#define RENDER_CALLTREE_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/profile/lookup.h"
#include "render/calltree.h"

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
	struct pages_account account; /* of the lookups */
	struct lookup node_lookup;    /* by their numbers: the root, 0, is not in it */
	struct lookup frame_lookup;   /* by their numbers + 1 */
	struct calltree_chunk *chunks;
	const char *last_module; /* modules repeat in runs: one compare saves most copies */
};

static inline void calltree_poison(struct calltree *tree, int error)
{
	if (!tree->error)
		tree->error = error;
}

/*
 * Room for one more element of @size bytes after @count; doubles. Returns the array, or NULL with
 * @tree poisoned and @array as it was.
 */
void *calltree_grow(struct calltree *tree, void *array, size_t count, size_t *room, size_t size);

/* Keep @text as long as @tree. Returns the copy, or NULL with @tree poisoned. */
char *calltree_keep(struct calltree *tree, const char *text);

#endif
