/* SPDX-License-Identifier: MIT */
/*
 * The set of all generated code: the functions that change it. region_find.c has the functions that
 * read it. region.h describes the tree.
 *
 * Memory that handlers read is never unmapped. The data of chunks, names and code records are
 * reused in place, so readers compare a stub's address in the code space before and after they read
 * the stub.
 */
#include "libprof/trampoline/region.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "libprof/sampler/modules.h"
#include "libprof/trampoline/fork_lock.h"

/* ---- the tree -------------------------------------------------------------------------------- */
/* Functions that change the tree. Words that readers may see are stored atomically. */

#define FIRST_ROOM  16u
#define MERGED_MOST (REGION_TREE_LEAF / 2)

#define STORE(word, value) __atomic_store_n(&(word), value, __ATOMIC_RELAXED)

/* Put an unlinked leaf into the list of replaced nodes, because readers may still read it. */
static void defer_free_leaf(struct region_tree *tree, struct region_leaf *leaf)
{
	leaf->next_deferred = NULL;
	leaf->deferred_at = tree->replaced;
	if (!tree->first_leaf)
		tree->last_leaf = &tree->first_leaf;
	*tree->last_leaf = leaf;
	tree->last_leaf = &leaf->next_deferred;
	__atomic_store_n(&tree->replaced, tree->replaced + 1, __ATOMIC_RELEASE);
}

static void defer_free_top(struct region_tree *tree, struct region_top *top)
{
	top->next_deferred = NULL;
	top->deferred_at = tree->replaced;
	if (!tree->first_top)
		tree->last_top = &tree->first_top;
	*tree->last_top = top;
	tree->last_top = &top->next_deferred;
	__atomic_store_n(&tree->replaced, tree->replaced + 1, __ATOMIC_RELEASE);
}

static struct region_leaf *allocate_leaf(void)
{
	void *leaf;

	if (posix_memalign(&leaf, REGION_TREE_LINE, sizeof(struct region_leaf)))
		return NULL;
	return memset(leaf, 0, sizeof(struct region_leaf));
}

static struct region_leaf *new_leaf(struct region_tree *tree)
{
	struct region_leaf *leaf = tree->first_leaf;

	if (!leaf || tree->replaced - leaf->deferred_at < REGION_TREE_WAIT)
		return allocate_leaf();
	tree->first_leaf = leaf->next_deferred;
	/*
	 * Readers must see the new count of replaced nodes before they see any store to the leaf.
	 */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	STORE(leaf->count, 0);
	return leaf;
}

/* Free a leaf that was never in the tree. @leaf may be NULL. */
static void drop_leaf(struct region_tree *tree, struct region_leaf *leaf)
{
	if (leaf)
		defer_free_leaf(tree, leaf);
}

static struct region_top *new_top(struct region_tree *tree, uint32_t count)
{
	struct region_top *top;
	uint32_t room = FIRST_ROOM;

	while (room < count)
		room *= 2;
	while ((top = tree->first_top) && top->room < room) {
		tree->first_top = top->next_deferred;
		top->next_deferred = tree->outgrown;
		tree->outgrown = top;
	}
	if (top && tree->replaced - top->deferred_at >= REGION_TREE_WAIT) {
		tree->first_top = top->next_deferred;
		__atomic_thread_fence(__ATOMIC_RELEASE);
	} else {
		top = calloc(1, sizeof(*top) +
					room * (sizeof(uintptr_t) + sizeof(struct region_leaf *)));
		if (!top)
			return NULL;
		top->room = room;
	}
	STORE(top->count, 0);
	return top;
}

static void push_leaf(struct region_top *top, uintptr_t low, struct region_leaf *leaf)
{
	uint32_t at = top->count;

	STORE(region_top_low(top)[at], at ? low : 0);
	STORE(region_top_leaf(top)[at], leaf);
	STORE(top->count, at + 1);
}

static void push_entry(struct region_leaf *leaf, struct region *region)
{
	uint32_t at = leaf->count;

	STORE(leaf->start[at], region->start);
	STORE(leaf->region[at], region);
	STORE(leaf->count, at + 1);
}

static int is_live(const struct region_leaf *leaf, uint32_t at)
{
	return leaf->region[at] != NULL;
}

static uint32_t count_live(const struct region_leaf *leaf)
{
	uint32_t live = 0;

	for (uint32_t i = 0; i < leaf->count; i++)
		live += (uint32_t)is_live(leaf, i);
	return live;
}

/* Returns the index of the last leaf that may contain @address. */
static uint32_t leaf_of(struct region_top *top, uintptr_t address)
{
	uint32_t low = 0, high = top->count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (region_top_low(top)[middle] <= address)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static int leaf_overlaps(const struct region_leaf *leaf, uintptr_t start, uintptr_t end)
{
	for (uint32_t i = 0; i < leaf->count; i++) {
		if (is_live(leaf, i) && leaf->start[i] < end &&
			leaf->start[i] + leaf->region[i]->bytes > start)
			return 1;
	}
	return 0;
}

/*
 * Does a region overlap [@start, @end)? Such a region may be in the same leaf, may begin in a later
 * leaf below @end, or may be the last region of an earlier leaf.
 */
static int overlaps(struct region_top *top, uintptr_t start, uintptr_t end)
{
	uint32_t at = leaf_of(top, start);

	/* The last region below @start may be in an earlier leaf. */
	for (uint32_t before = at; before-- > 0;) {
		if (!count_live(region_top_leaf(top)[before]))
			continue;
		if (leaf_overlaps(region_top_leaf(top)[before], start, end))
			return 1;
		break;
	}
	for (; at < top->count && (at == 0 || region_top_low(top)[at] < end); at++) {
		if (leaf_overlaps(region_top_leaf(top)[at], start, end))
			return 1;
	}
	return 0;
}

/* Replace leaves [@at, @at + @gone) by @first and @second (may be NULL). Returns 0 or -errno. */
static int replace_leaves(struct region_tree *tree, uint32_t at, uint32_t gone,
	struct region_leaf *first, struct region_leaf *second)
{
	struct region_top *old = tree->top;
	uint32_t count = old->count - gone + (first != NULL) + (second != NULL);
	struct region_top *top = NULL;

	if (count) {
		top = new_top(tree, count);
		if (!top)
			return -ENOMEM;
		for (uint32_t i = 0; i < at; i++)
			push_leaf(top, region_top_low(old)[i], region_top_leaf(old)[i]);
		if (first)
			push_leaf(top, region_top_low(old)[at], first);
		if (second)
			push_leaf(top, second->start[0], second);
		for (uint32_t i = at + gone; i < old->count; i++)
			push_leaf(top, region_top_low(old)[i], region_top_leaf(old)[i]);
	}
	__atomic_store_n(&tree->top, top, __ATOMIC_RELEASE);
	for (uint32_t i = at; i < at + gone; i++)
		defer_free_leaf(tree, region_top_leaf(old)[i]);
	defer_free_top(tree, old);
	return 0;
}

/* Copy @region and @from's live entries in order: @most of them to @first, others to @second. */
static void merge_entries(const struct region_leaf *from, struct region *region, uint32_t most,
	struct region_leaf *first, struct region_leaf *second)
{
	struct region_leaf *into = first;
	int is_added = 0;

	for (uint32_t i = 0; i < from->count || !is_added;) {
		struct region *next = region;

		if (i < from->count && (is_added || from->start[i] < region->start)) {
			next = is_live(from, i) ? from->region[i] : NULL;
			i++;
		} else {
			is_added = 1;
		}
		if (!next)
			continue;
		if (into == first && first->count == most)
			into = second;
		push_entry(into, next);
	}
}

static int add_first(struct region_tree *tree, struct region *region)
{
	struct region_leaf *leaf = new_leaf(tree);
	struct region_top *top = leaf ? new_top(tree, 1) : NULL;

	if (!top) {
		drop_leaf(tree, leaf);
		return -ENOMEM;
	}
	push_entry(leaf, region);
	push_leaf(top, 0, leaf);
	__atomic_store_n(&tree->top, top, __ATOMIC_RELEASE);
	return 0;
}

int region_tree_add(struct region_tree *tree, struct region *region)
{
	struct region_leaf *leaf, *first, *second = NULL;
	uint32_t at, live;
	int error = 0;

	if (!tree->top)
		return add_first(tree, region);
	if (overlaps(tree->top, region->start, region->start + region->bytes))
		return -EEXIST;
	at = leaf_of(tree->top, region->start);
	leaf = region_top_leaf(tree->top)[at];
	live = count_live(leaf);
	first = new_leaf(tree);
	if (first && live == REGION_TREE_LEAF)
		second = new_leaf(tree);
	if (!first || (live == REGION_TREE_LEAF && !second)) {
		drop_leaf(tree, first);
		return -ENOMEM;
	}
	merge_entries(
		leaf, region, second ? REGION_TREE_LEAF / 2 : REGION_TREE_LEAF, first, second);
	if (second) {
		error = replace_leaves(tree, at, 1, first, second);
	} else {
		__atomic_store_n(&region_top_leaf(tree->top)[at], first, __ATOMIC_RELEASE);
		defer_free_leaf(tree, leaf);
	}
	if (error) {
		drop_leaf(tree, first);
		drop_leaf(tree, second);
	}
	return error;
}

/* Merge two neighbouring leaves if both have few entries. Returns 1 if they were merged, else 0. */
static int merge_with_next(struct region_tree *tree, uint32_t at)
{
	struct region_leaf *one, *next, *both;

	if (at + 1 >= tree->top->count)
		return 0;
	one = region_top_leaf(tree->top)[at];
	next = region_top_leaf(tree->top)[at + 1];
	if (count_live(one) + count_live(next) > MERGED_MOST)
		return 0;
	both = new_leaf(tree);
	if (!both)
		return 0;
	for (uint32_t i = 0; i < one->count; i++) {
		if (is_live(one, i))
			push_entry(both, one->region[i]);
	}
	for (uint32_t i = 0; i < next->count; i++) {
		if (is_live(next, i))
			push_entry(both, next->region[i]);
	}
	if (replace_leaves(tree, at, 2, both, NULL)) {
		drop_leaf(tree, both);
		return 0;
	}
	return 1;
}

int region_tree_remove(struct region_tree *tree, struct region *region)
{
	struct region_leaf *leaf;
	uint32_t at, i;

	if (!tree->top)
		return -ENOENT;
	at = leaf_of(tree->top, region->start);
	leaf = region_top_leaf(tree->top)[at];
	for (i = 0; i < leaf->count; i++) {
		if (leaf->region[i] == region)
			break;
	}
	if (i == leaf->count)
		return -ENOENT;
	__atomic_store_n(&leaf->region[i], NULL, __ATOMIC_RELEASE);
	if (!count_live(leaf))
		(void)replace_leaves(tree, at, 1, NULL, NULL);
	else if (!merge_with_next(tree, at) && at)
		merge_with_next(tree, at - 1);
	return 0;
}

int region_tree_each(struct region_tree *tree,
	int (*visit)(void *context, struct region *region), void *context)
{
	struct region_top *top = tree->top;
	int error = 0;

	for (uint32_t i = 0; top && i < top->count; i++) {
		struct region_leaf *leaf = region_top_leaf(top)[i];

		for (uint32_t k = 0; k < leaf->count && !error; k++) {
			if (is_live(leaf, k))
				error = visit(context, leaf->region[k]);
		}
	}
	return error;
}

/* ---- the process's set ----------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held to change the tree */

FORK_LOCK(region_watch_forks, lock, (void)0)

int region_add(struct region *region)
{
	int error;

	region_watch_forks();
	__atomic_store_n(&modules_code, region_resolve, __ATOMIC_RELEASE);
	pthread_mutex_lock(&lock);
	error = region_tree_add(&region_tree, region);
	pthread_mutex_unlock(&lock);
	return error;
}

void region_remove(struct region *region)
{
	pthread_mutex_lock(&lock);
	region_tree_remove(&region_tree, region);
	pthread_mutex_unlock(&lock);
}

int region_each(int (*visit)(void *context, struct region *region), void *context)
{
	int error;

	pthread_mutex_lock(&lock);
	error = region_tree_each(&region_tree, visit, context);
	pthread_mutex_unlock(&lock);
	return error;
}

void region_change_begin(struct region *region)
{
	__atomic_store_n(&region->generation, region->generation + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

void region_change_end(struct region *region)
{
	__atomic_store_n(&region->generation, region->generation + 1, __ATOMIC_RELEASE);
}
