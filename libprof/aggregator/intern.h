/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: runs in the helper, on memory the target gave nothing of. */
/*
 * Stacks to nodes: a node is a frame below a parent node, numbered from 1 in order of creation; 0
 * is the root. Fixed memory: when the table is full a new epoch begins and numbers start again.
 */
#ifndef LIBPROF_AGGREGATOR_INTERN_H
#define LIBPROF_AGGREGATOR_INTERN_H

#include <stdint.h>

#include "libprof/aggregator/plain_memory.h"

#define INTERN_NODES   (1u << 17)
#define INTERN_BUCKETS (1u << 18)

struct intern_node {
	uint64_t frame;
	uint32_t parent;
	uint32_t pad;
};

/* 3 MiB, touched as it fills. All zero is an empty table of epoch 0. */
struct intern {
	uint32_t epoch;
	uint32_t nodes; /* highest number in use */
	uint32_t buckets[INTERN_BUCKETS];
	struct intern_node node[INTERN_NODES];
};

/* Is there room for @n more nodes? */
static inline int intern_has_room(const struct intern *table, uint32_t n)
{
	return table->nodes + n < INTERN_NODES;
}

/* Forget all nodes. */
static inline void intern_new_epoch(struct intern *table)
{
	table->epoch++;
	table->nodes = 0;
	plain_clear(table->buckets, INTERN_BUCKETS);
}

/*
 * The child of @parent with @frame, made if needed; *@is_new says which. The caller has asked
 * intern_has_room(). Returns its number.
 */
static inline uint32_t intern_child(
	struct intern *table, uint32_t parent, uint64_t frame, int *is_new)
{
	uint64_t hash = (frame ^ (uint64_t)parent << 32) * 0x9e3779b97f4a7c15ULL;
	uint32_t at = (uint32_t)(hash >> 40) & (INTERN_BUCKETS - 1);

	for (;; at = (at + 1) & (INTERN_BUCKETS - 1)) {
		uint32_t number = table->buckets[at];

		if (!number)
			break;
		if (table->node[number].frame == frame && table->node[number].parent == parent) {
			*is_new = 0;
			return number;
		}
	}
	table->buckets[at] = ++table->nodes;
	table->node[table->nodes].frame = frame;
	table->node[table->nodes].parent = parent;
	*is_new = 1;
	return table->nodes;
}

#endif
