/* SPDX-License-Identifier: MIT */
/* Two waits belong to one wait site if their names and their waiting functions are equal. */
#include "cli/profile/wait_sites.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/holders.h"

/* Longest length of a leaf's name, so that lengths fit an int. */
#define NAME_MAX_BYTES 65536u

/*
 * Returns the function that waits in @node: the innermost function of an interpreted or JIT
 * language; if there is none, the innermost one outside of libc and of lock functions.
 */
static const char *waiter_of(const struct calltree *tree, uint32_t node)
{
	uint32_t at = calltree_node_at(tree, node)->parent;
	const char *outermost = NULL, *innermost = NULL;

	for (; at != CALLTREE_ROOT; at = calltree_node_at(tree, at)->parent) {
		const struct calltree_frame *frame =
			calltree_frame_at(tree, calltree_node_at(tree, at)->frame);

		if (frame->kind == CALLTREE_PROCESS || frame->kind == CALLTREE_SYNTHETIC)
			continue;
		if (frame->kind == CALLTREE_JIT)
			return frame->name;
		if (!innermost && !holders_is_libc(frame) && !holders_takes_locks(frame))
			innermost = frame->name;
		outermost = frame->name;
	}
	return innermost ? innermost : outermost;
}

struct wait_site wait_site_of(const struct calltree *tree, uint32_t node)
{
	const struct calltree_node *at = calltree_node_at(tree, node);
	const char *leaf = calltree_frame_at(tree, at->frame)->name;
	const char *function = waiter_of(tree, node);
	const char *kind = calltree_frame_at(tree, at->frame)->module;
	size_t length = strnlen(leaf, NAME_MAX_BYTES), bytes = 0, stem = length - 1;
	const char *holder;

	if (!function)
		function = "";
	/* Leaves of waits have brackets, except in a manipulated file. */
	if (length < 2 || leaf[0] != '[' || leaf[stem] != ']')
		return (struct wait_site){leaf, function, kind, "", (int)length, 0, at->self};
	holder = holders_in_name(leaf, &bytes, &stem);
	return (struct wait_site){leaf + 1, function, kind, holder ? holder : "", (int)stem - 1,
		(int)bytes, at->self};
}

int wait_site_by_holder(const void *a, const void *b)
{
	const struct wait_site *x = a, *y = b;
	int shorter = x->holder_bytes < y->holder_bytes ? x->holder_bytes : y->holder_bytes;
	int order = memcmp(x->holder, y->holder, (size_t)shorter);

	return order ? order : x->holder_bytes - y->holder_bytes;
}

int wait_site_by_site(const void *a, const void *b)
{
	const struct wait_site *x = a, *y = b;
	int order = x->leaf_bytes - y->leaf_bytes;

	if (!order)
		order = memcmp(x->leaf, y->leaf, (size_t)x->leaf_bytes);
	return order ? order : strcmp(x->function, y->function);
}

int wait_site_by_site_and_holder(const void *a, const void *b)
{
	int order = wait_site_by_site(a, b);

	return order ? order : wait_site_by_holder(a, b);
}

int wait_site_by_weight(const void *a, const void *b)
{
	const struct wait_site *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return wait_site_by_site_and_holder(a, b);
}

size_t wait_sites_merge(
	struct wait_site *places, size_t count, int (*order)(const void *, const void *))
{
	size_t kept = 0;

	if (!count)
		return 0;
	qsort(places, count, sizeof(*places), order);
	for (size_t i = 1; i < count; i++) {
		if (order(&places[kept], &places[i]))
			places[++kept] = places[i];
		else
			places[kept].weight += places[i].weight;
	}
	return kept + 1;
}

static bool is_idle(const struct calltree *tree, uint32_t node)
{
	for (; node != CALLTREE_ROOT; node = calltree_node_at(tree, node)->parent)
		if (calltree_frame_at(tree, calltree_node_at(tree, node)->frame)->kind ==
			CALLTREE_IDLE)
			return true;
	return false;
}

struct wait_site *wait_sites_find(const struct calltree *tree, size_t *count, uint64_t *idle)
{
	struct wait_site *places = calloc((size_t)calltree_nodes(tree) + 1, sizeof(*places));

	*count = 0;
	*idle = 0;
	for (uint32_t i = 1; places && i < calltree_nodes(tree); i++) {
		const struct calltree_node *node = calltree_node_at(tree, i);
		const struct calltree_frame *frame = calltree_frame_at(tree, node->frame);

		if (frame->kind != CALLTREE_WAIT || !node->self || !frame->module[0] ||
			!strcmp(frame->module, "cpu"))
			continue;
		if (is_idle(tree, i))
			*idle += node->self;
		else
			places[(*count)++] = wait_site_of(tree, i);
	}
	if (!places)
		return NULL;
	*count = wait_sites_merge(places, *count, wait_site_by_site);
	qsort(places, *count, sizeof(*places), wait_site_by_weight);
	return places;
}
