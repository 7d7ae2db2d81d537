/* SPDX-License-Identifier: MIT */
/*
 * Where threads wait: the stacks of a tree that wait, by what for and by whose wait it is.
 */
#ifndef CLI_PROFILE_WAIT_PLACES_H
#define CLI_PROFILE_WAIT_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "render/calltree.h"

/* A function, and what it waits for. Texts are the tree's, those with a length not terminated. */
struct wait_place {
	const char *leaf, *function;
	const char *kind;   /* of wait, as the module of CALLTREE_WAIT has it */
	const char *holder; /* a function that has it, "": not known */
	int leaf_bytes, holder_bytes;
	uint64_t weight;
};

/*
 * The place of @node, a leaf of @tree that waits. Names of leaves are in brackets, which are left
 * out. The function is the innermost one that is not there to wait for others.
 */
struct wait_place wait_place_of(const struct calltree *tree, uint32_t node);

/* Orders: by what for and who, the same and then who has it, who has it; by weight. */
int wait_place_by_place(const void *a, const void *b);
int wait_place_by_place_and_holder(const void *a, const void *b);
int wait_place_by_holder(const void *a, const void *b);
int wait_place_by_weight(const void *a, const void *b);

/*
 * Make one of those at @places that are equal by @order, and leave them in it. Returns how many are
 * left.
 */
size_t wait_places_merge(
	struct wait_place *places, size_t count, int (*order)(const void *, const void *));

/*
 * The places of @tree (functions whole, idle threads folded) in which threads wait for something
 * known, one for each function and what it waits for, from the heaviest down; from malloc, their
 * number in *@count. What idle threads wait for says nothing of a run: it is left out, and its
 * weight in *@idle. NULL without memory.
 */
struct wait_place *wait_places_find(const struct calltree *tree, size_t *count, uint64_t *idle);

#endif
