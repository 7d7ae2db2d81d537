/* SPDX-License-Identifier: MIT */
/*
 * Order without recursion and without comparing siblings: frames are sorted once by name, nodes are
 * distributed by that rank and then by parent, and positions follow from subtree sizes.
 */
#include "render/preorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_frames(const void *left, const void *right, void *data)
{
	const struct calltree *tree = data;
	const struct calltree_frame *a = calltree_frame_at(tree, *(const uint32_t *)left);
	const struct calltree_frame *b = calltree_frame_at(tree, *(const uint32_t *)right);
	int order = strcmp(a->name, b->name);

	if (!order)
		order = strcmp(a->module, b->module);
	return order ? order : (int)a->kind - (int)b->kind;
}

static uint32_t *array_new(uint32_t count)
{
	return calloc((size_t)count + 2, sizeof(uint32_t));
}

/* @starts[key] becomes where the run of @key begins; @starts holds counts at [key + 1] before. */
static void counts_to_starts(uint32_t *starts, uint32_t keys)
{
	for (uint32_t i = 0; i < keys; i++)
		starts[i + 1] += starts[i];
}

/* All nodes but the root, grouped by parent and by frame rank within a parent. */
static int sort_children(struct preorder *preorder, const struct calltree *tree, uint32_t *children,
	uint32_t *first_child)
{
	uint32_t keys = preorder->frames;
	uint32_t *starts = array_new(keys);
	uint32_t *next = array_new(preorder->nodes);
	uint32_t *by_frame = array_new(preorder->nodes);
	int error = -ENOMEM;

	if (!starts || !next || !by_frame)
		goto out;
	for (uint32_t n = 1; n < preorder->nodes; n++) {
		starts[preorder->rank[calltree_node_at(tree, n)->frame] + 1]++;
		first_child[calltree_node_at(tree, n)->parent + 1]++;
	}
	counts_to_starts(starts, keys);
	for (uint32_t n = 1; n < preorder->nodes; n++)
		by_frame[starts[preorder->rank[calltree_node_at(tree, n)->frame]]++] = n;
	counts_to_starts(first_child, preorder->nodes);
	memcpy(next, first_child, preorder->nodes * sizeof(*next));
	for (uint32_t i = 0; i + 1 < preorder->nodes; i++)
		children[next[calltree_node_at(tree, by_frame[i])->parent]++] = by_frame[i];
	error = 0;
out:
	free(starts);
	free(next);
	free(by_frame);
	return error;
}

static void sort_frames(struct preorder *preorder, const struct calltree *tree)
{
	for (uint32_t i = 0; i < preorder->frames; i++)
		preorder->by_rank[i] = i;
	qsort_r(preorder->by_rank, preorder->frames, sizeof(*preorder->by_rank), compare_frames,
		(void *)(uintptr_t)tree);
	for (uint32_t i = 0; i < preorder->frames; i++)
		preorder->rank[preorder->by_rank[i]] = i;
}

static void place_nodes(struct preorder *preorder, const struct calltree *tree,
	const uint32_t *children, const uint32_t *first_child, uint32_t *size)
{
	for (uint32_t n = 0; n < preorder->nodes; n++)
		size[n] = 1;
	for (uint32_t n = preorder->nodes - 1; n > 0; n--)
		size[calltree_node_at(tree, n)->parent] += size[n];
	preorder->end[0] = preorder->nodes;
	/* A parent's number is below its children's, so its position is known before theirs. */
	for (uint32_t n = 0; n < preorder->nodes; n++) {
		uint32_t at = preorder->position[n];
		uint32_t next = at + 1;

		preorder->order[at] = n;
		for (uint32_t i = first_child[n]; i < first_child[n + 1]; i++) {
			preorder->position[children[i]] = next;
			preorder->depth[next] = preorder->depth[at] + 1;
			next += size[children[i]];
			preorder->end[preorder->position[children[i]]] = next;
		}
	}
	for (uint32_t n = preorder->nodes - 1; n > 0; n--) {
		uint32_t parent = preorder->position[calltree_node_at(tree, n)->parent];
		uint32_t levels = preorder->height[preorder->position[n]] + 1;

		if (levels > preorder->height[parent])
			preorder->height[parent] = levels;
	}
}

int preorder_init(struct preorder *preorder, const struct calltree *tree)
{
	uint32_t nodes = calltree_nodes(tree);
	uint32_t frames = calltree_frames(tree);
	uint32_t *children = array_new(nodes);
	uint32_t *first_child = array_new(nodes);
	uint32_t *size = array_new(nodes);
	int error = -ENOMEM;

	*preorder = (struct preorder){.nodes = nodes, .frames = frames};
	preorder->order = array_new(nodes);
	preorder->position = array_new(nodes);
	preorder->end = array_new(nodes);
	preorder->depth = array_new(nodes);
	preorder->height = array_new(nodes);
	preorder->rank = array_new(frames);
	preorder->by_rank = array_new(frames);
	if (!children || !first_child || !size || !preorder->order || !preorder->position ||
		!preorder->end || !preorder->depth || !preorder->height || !preorder->rank ||
		!preorder->by_rank)
		goto out;
	sort_frames(preorder, tree);
	error = sort_children(preorder, tree, children, first_child);
	if (!error)
		place_nodes(preorder, tree, children, first_child, size);
out:
	free(children);
	free(first_child);
	free(size);
	if (error)
		preorder_release(preorder);
	return error;
}

void preorder_release(struct preorder *preorder)
{
	free(preorder->order);
	free(preorder->position);
	free(preorder->end);
	free(preorder->depth);
	free(preorder->height);
	free(preorder->rank);
	free(preorder->by_rank);
	*preorder = (struct preorder){0};
}
