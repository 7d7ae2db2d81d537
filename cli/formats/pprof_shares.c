/* SPDX-License-Identifier: MIT */
/* Every sample is a share, sorted, and those of one node and thread added up. */
#include "cli/formats/pprof_shares.h"

#include <errno.h>
#include <stdlib.h>

static int by_node_then_thread(const void *left, const void *right)
{
	const struct pprof_share *a = left, *b = right;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

/* Into @shares, which has a place for each sample and each node. Returns how many it took. */
static size_t collect(const struct calltree *tree, struct pprof_share *shares, uint64_t *rest)
{
	uint32_t nodes = calltree_nodes(tree);
	size_t count = 0;

	for (uint32_t i = 0; i < nodes; i++)
		rest[i] = calltree_node_at(tree, i)->self;
	for (size_t i = 0; i < calltree_samples(tree); i++) {
		const struct calltree_sample *sample = calltree_sample_at(tree, i);
		uint64_t weight = rest[sample->node];

		if (weight > sample->weight)
			weight = sample->weight;
		rest[sample->node] -= weight;
		if (weight)
			shares[count++] =
				(struct pprof_share){sample->node, sample->thread, weight};
	}
	for (uint32_t i = 0; i < nodes; i++)
		if (rest[i])
			shares[count++] = (struct pprof_share){i, PPROF_NO_THREAD, rest[i]};
	return count;
}

/* Add up neighbours of one node and thread. Returns how many are left. */
static size_t merge(struct pprof_share *shares, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (kept && !by_node_then_thread(&shares[kept - 1], &shares[i]))
			shares[kept - 1].weight += shares[i].weight;
		else
			shares[kept++] = shares[i];
	}
	return kept;
}

int pprof_share_out(const struct calltree *tree, struct pprof_share **shares, size_t *count)
{
	uint32_t nodes = calltree_nodes(tree);
	uint64_t *rest = calloc(nodes, sizeof(*rest));
	struct pprof_share *made = calloc(calltree_samples(tree) + nodes, sizeof(*made));
	size_t collected;

	if (!rest || !made) {
		free(rest);
		free(made);
		return -ENOMEM;
	}
	collected = collect(tree, made, rest);
	free(rest);
	qsort(made, collected, sizeof(*made), by_node_then_thread);
	*count = merge(made, collected);
	*shares = made;
	return 0;
}
