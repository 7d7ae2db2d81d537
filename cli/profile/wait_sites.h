/* SPDX-License-Identifier: MIT */
/* Group a tree's waiting stacks by what they wait for and by the function that waits. */
#ifndef CLI_PROFILE_WAIT_SITES_H
#define CLI_PROFILE_WAIT_SITES_H

#include <stddef.h>
#include <stdint.h>

#include "render/calltree.h"

/* A function and its wait. Texts are the tree's; texts with a length are not NUL-terminated. */
struct wait_site {
	const char *leaf, *function;
	/* kind of wait, as the module of CALLTREE_WAIT */
	const char *kind;
	const char *holder; /* function that holds it; "": not known */
	int leaf_bytes, holder_bytes;
	uint64_t weight;
};

/*
 * Returns the place of @node, a waiting leaf of @tree. `leaf` is the name without its brackets.
 * `function` is a language's innermost function, or else the innermost that is not libc's or a
 * lock's.
 */
struct wait_site wait_site_of(const struct calltree *tree, uint32_t node);

/* For qsort(): by leaf and function; by leaf, function, holder; by holder; by falling weight. */
int wait_site_by_site(const void *a, const void *b);
int wait_site_by_site_and_holder(const void *a, const void *b);
int wait_site_by_holder(const void *a, const void *b);
int wait_site_by_weight(const void *a, const void *b);

/* Sort @places by @order and merge equal ones. Returns how many are left. */
size_t wait_sites_merge(
	struct wait_site *places, size_t count, int (*order)(const void *, const void *));

/*
 * Find the places of @tree (functions whole, idle threads folded) with a known wait: one per
 * function and wait, by descending weight. Waits of idle threads are left out; their weight is in
 * *@idle. Returns an array from malloc and its length in *@count, or NULL without memory.
 */
struct wait_site *wait_sites_find(const struct calltree *tree, size_t *count, uint64_t *idle);

#endif
