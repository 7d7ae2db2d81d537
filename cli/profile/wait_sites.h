/* SPDX-License-Identifier: MIT */
/* Group a tree's waiting stacks by what they wait for and by the function that waits. */
#ifndef CLI_PROFILE_WAIT_SITES_H
#define CLI_PROFILE_WAIT_SITES_H

#include <stddef.h>
#include <stdint.h>

#include "render/calltree.h"

/*
 * A function and its wait. Texts belong to the tree. `leaf` and `holder` have a length, but no NUL.
 */
struct wait_site {
	const char *leaf, *function;
	/* kind of wait: the `module` of the CALLTREE_WAIT frame */
	const char *kind;
	const char *holder; /* function that holds it; "": not known */
	int leaf_bytes, holder_bytes;
	uint64_t weight;
};

/*
 * Returns the wait site of @node, a waiting leaf of @tree. `leaf` is the leaf's name without
 * brackets. `function` is the innermost function of an interpreted or JIT language, or else the
 * innermost one outside of libc and lock functions.
 */
struct wait_site wait_site_of(const struct calltree *tree, uint32_t node);

/* Comparison functions for qsort(). wait_site_by_weight() puts the largest weight first. */
int wait_site_by_site(const void *a, const void *b);
int wait_site_by_site_and_holder(const void *a, const void *b);
int wait_site_by_holder(const void *a, const void *b);
int wait_site_by_weight(const void *a, const void *b);

/* Sort @places by @order, and merge those that @order finds equal. Returns how many are left. */
size_t wait_sites_merge(
	struct wait_site *places, size_t count, int (*order)(const void *, const void *));

/*
 * Find all wait sites of @tree, whose functions must be whole and idle threads folded, and sort
 * them by falling weight. Waits of idle threads are left out; their weight is in *@idle. Returns an
 * array from malloc and its length in *@count, or NULL without memory.
 */
struct wait_site *wait_sites_find(const struct calltree *tree, size_t *count, uint64_t *idle);

#endif
