/* SPDX-License-Identifier: MIT */
/*
 * The call tree's nodes and their weights. A parent is always older than its children, which is
 * what lets every pass over the tree be a loop instead of a recursion.
 */
#include "render/calltree_store.h"

#include <errno.h>
#include <stdlib.h>

#define NODES_MAX 50000000u
/* Sums stay exact in the viewer's doubles, and nothing here can wrap. */
#define WEIGHT_MAX ((UINT64_C(1) << 53) - 1)

static uint64_t hash_node(const struct calltree_node *node)
{
	return calltree_mix((uint64_t)node->parent << 32 | node->frame);
}

static int node_index_grow(struct calltree *tree)
{
	int grown = calltree_index_grow(&tree->node_index, tree->node_count);

	if (grown == 1)
		for (uint32_t i = 1; i < tree->node_count; i++)
			calltree_index_put(&tree->node_index, hash_node(&tree->nodes[i]), i);
	return grown < 0 ? grown : 0;
}

static uint32_t add_node(struct calltree *tree, uint32_t parent, uint32_t frame)
{
	size_t room = tree->node_room;

	if (tree->node_count >= NODES_MAX) {
		calltree_poison(tree, -E2BIG);
		return CALLTREE_ROOT;
	}
	struct calltree_node *nodes =
		calltree_grow(tree, tree->nodes, tree->node_count, &room, sizeof(*nodes));

	if (!nodes)
		return CALLTREE_ROOT;
	tree->nodes = nodes;
	tree->node_room = (uint32_t)room;
	nodes[tree->node_count] = (struct calltree_node){.parent = parent, .frame = frame};
	return tree->node_count++;
}

struct calltree *calltree_new(void)
{
	struct calltree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return NULL;
	add_node(tree, CALLTREE_ROOT, 0);
	if (tree->error || node_index_grow(tree) || calltree_frame_index_grow(tree)) {
		calltree_free(tree);
		return NULL;
	}
	return tree;
}

void calltree_free(struct calltree *tree)
{
	if (!tree)
		return;
	for (struct calltree_chunk *chunk = tree->chunks, *next; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	free(tree->nodes);
	free(tree->frames);
	free(tree->threads);
	free(tree->samples);
	free(tree->node_index.places);
	free(tree->frame_index.places);
	free(tree);
}

uint32_t calltree_child(struct calltree *tree, uint32_t parent, uint32_t frame)
{
	struct calltree_node wanted = {.parent = parent, .frame = frame};

	if (tree->error)
		return CALLTREE_ROOT;
	if (parent >= tree->node_count || frame >= tree->frame_count) {
		calltree_poison(tree, -EINVAL);
		return CALLTREE_ROOT;
	}
	if (node_index_grow(tree)) {
		calltree_poison(tree, -ENOMEM);
		return CALLTREE_ROOT;
	}
	uint32_t at = (uint32_t)hash_node(&wanted) & tree->node_index.mask;

	for (; tree->node_index.places[at]; at = (at + 1) & tree->node_index.mask) {
		uint32_t number = tree->node_index.places[at] - 1;

		if (tree->nodes[number].parent == parent && tree->nodes[number].frame == frame)
			return number;
	}
	uint32_t number = add_node(tree, parent, frame);

	if (!tree->error)
		tree->node_index.places[at] = number + 1;
	return number;
}

void calltree_add(struct calltree *tree, uint32_t node, uint64_t weight)
{
	if (tree->error)
		return;
	if (node >= tree->node_count) {
		calltree_poison(tree, -EINVAL);
	} else if (weight > WEIGHT_MAX - tree->weight) {
		calltree_poison(tree, -EOVERFLOW);
	} else {
		tree->nodes[node].self += weight;
		tree->weight += weight;
	}
}

int calltree_finish(struct calltree *tree)
{
	if (tree->error)
		return tree->error;
	for (uint32_t i = 0; i < tree->node_count; i++)
		tree->nodes[i].total = tree->nodes[i].self;
	for (uint32_t i = tree->node_count - 1; i > 0; i--)
		tree->nodes[tree->nodes[i].parent].total += tree->nodes[i].total;
	return 0;
}

int calltree_error(const struct calltree *tree)
{
	return tree->error;
}

uint32_t calltree_nodes(const struct calltree *tree)
{
	return tree->node_count;
}

const struct calltree_node *calltree_node_at(const struct calltree *tree, uint32_t node)
{
	return &tree->nodes[node];
}

uint64_t calltree_total(const struct calltree *tree)
{
	return tree->weight;
}
