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

void *calltree_grow(struct calltree *tree, void *array, size_t count, size_t *room, size_t size)
{
	size_t wanted = *room ? *room * 2 : 64;

	if (count < *room)
		return array;
	array = reallocarray(array, wanted, size);
	if (array)
		*room = wanted;
	else
		calltree_poison(tree, -ENOMEM);
	return array;
}

static uint32_t hash_of(uint32_t parent, uint32_t frame)
{
	return lookup_hash((uint64_t)parent << 32 ^ frame * 0x9e3779b97f4a7c15ULL);
}

static uint32_t hash_node(const void *tree, uint32_t number)
{
	const struct calltree_node *node = &((const struct calltree *)tree)->nodes[number];

	return hash_of(node->parent, node->frame);
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
	tree->account.limit_bytes = SIZE_MAX;
	add_node(tree, CALLTREE_ROOT, 0);
	if (tree->error) {
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
	pages_release(&tree->account, &tree->node_lookup.slots);
	pages_release(&tree->account, &tree->frame_lookup.slots);
	free(tree);
}

uint32_t calltree_child(struct calltree *tree, uint32_t parent, uint32_t frame)
{
	struct lookup_probe probe;
	uint32_t number;

	if (tree->error)
		return CALLTREE_ROOT;
	if (parent >= tree->node_count || frame >= tree->frame_count) {
		calltree_poison(tree, -EINVAL);
		return CALLTREE_ROOT;
	}
	if (lookup_reserve(&tree->node_lookup, &tree->account, 1, hash_node, tree)) {
		calltree_poison(tree, -ENOMEM);
		return CALLTREE_ROOT;
	}
	probe = lookup_begin(&tree->node_lookup, hash_of(parent, frame));
	while ((number = lookup_next(&tree->node_lookup, &probe)))
		if (tree->nodes[number].parent == parent && tree->nodes[number].frame == frame)
			return number;
	number = add_node(tree, parent, frame);
	if (!tree->error)
		lookup_put(&tree->node_lookup, &probe, number);
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
