/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: region_tree_find() runs in the handler. */
/*
 * The ordered set behind region.h: one array of leaves, each an array of entries in order of
 * address.
 *
 *	top ──▶ { low[], leaf[] } ──▶ { start[], region[] } ──▶ struct region
 *
 * low[i] is the least start that leaf i may hold; low[0] is 0.
 *
 * A node that readers can see is never written to, but for single words that are right before and
 * after: a top's pointer to a leaf; a leaf's to a region that goes, which becomes NULL. For
 * anything else writers make a new leaf, or a new top when leaves come or go. What was replaced
 * waits until REGION_TREE_WAIT other nodes were replaced before it is written again. A reader
 * counts replacements before and after: fewer than that, and nothing that it read was rewritten.
 * Only a reader that was kept off the CPU meanwhile begins anew; nobody waits.
 */
#ifndef LIBPROF_TRAMPOLINE_REGION_TREE_H
#define LIBPROF_TRAMPOLINE_REGION_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/trampoline/region.h"

/* Small enough that all of a leaf can be asked of memory at once. */
#define REGION_TREE_LEAF 32u
#define REGION_TREE_WAIT 64u
#define REGION_TREE_LINE 64u /* of the CPU's cache, usually */

struct region_leaf {
	struct region_leaf *next_retired;
	uint64_t retired_at; /* region_tree.retired when it was */
	uint32_t count;
	uintptr_t start[REGION_TREE_LEAF] __attribute__((aligned(REGION_TREE_LINE)));
	struct region *region[REGION_TREE_LEAF];
};

struct region_top {
	struct region_top *next_retired;
	uint64_t retired_at;
	uint32_t room;
	uint32_t count;
	/* uintptr_t low[room]; struct region_leaf *leaf[room]; */
	uintptr_t word[];
};

struct region_tree {
	struct region_top *top; /* atomic; NULL: empty */
	uint64_t retired;	/* atomic: nodes replaced so far */
	/* Oldest first; the writers'. */
	struct region_leaf *first_leaf, **last_leaf;
	struct region_top *first_top, **last_top;
	struct region_top *outgrown; /* too small to be used again */
};

/* The process's. */
extern struct region_tree region_tree;

static inline uintptr_t *region_top_low(struct region_top *top)
{
	return top->word;
}

static inline struct region_leaf **region_top_leaf(struct region_top *top)
{
	return (struct region_leaf **)(top->word + top->room);
}

/* The region that holds @address, or NULL. Context: signal-safe. */
struct region *region_tree_find(struct region_tree *tree, uintptr_t address);

/*
 * Returns 0, -EEXIST when [start, start + bytes) overlaps a region, -ENOMEM.
 * Context: one writer at a time, not a handler; as are all below.
 */
int region_tree_add(struct region_tree *tree, struct region *region);

/* Returns 0, or -ENOENT. Needs no memory. */
int region_tree_remove(struct region_tree *tree, struct region *region);

/* As region_each(). */
int region_tree_each(struct region_tree *tree,
	int (*visit)(void *context, struct region *region), void *context);

#endif
