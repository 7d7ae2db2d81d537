/* SPDX-License-Identifier: MIT */
/* Turn samples into sorted shares. Their order does not depend on how the tree was built. */
#include "cli/formats/timeline.h"

#include <errno.h>
#include <stdlib.h>

#include "render/transform.h"

int timeline_shares(const struct calltree *tree, struct timeline_share **shares, size_t *count)
{
	uint32_t nodes = calltree_nodes(tree);
	uint64_t *unsampled = calloc(nodes, sizeof(*unsampled));
	struct timeline_share *found = calloc(calltree_samples(tree) + nodes, sizeof(*found));

	if (!unsampled || !found) {
		free(unsampled);
		free(found);
		return -ENOMEM;
	}
	*count = 0;
	for (uint32_t i = 0; i < nodes; i++)
		unsampled[i] = calltree_node_at(tree, i)->self;
	for (size_t i = 0; i < calltree_samples(tree); i++) {
		const struct calltree_sample *sample = calltree_sample_at(tree, i);
		uint64_t weight = unsampled[sample->node];

		if (weight > sample->weight)
			weight = sample->weight;
		unsampled[sample->node] -= weight;
		if (weight)
			found[(*count)++] = (struct timeline_share){
				sample->time_ns, weight, sample->node, sample->thread};
	}
	for (uint32_t i = 0; i < nodes; i++)
		if (unsampled[i])
			found[(*count)++] =
				(struct timeline_share){0, unsampled[i], i, TIMELINE_NO_THREAD};
	free(unsampled);
	*shares = found;
	return 0;
}

/* Compares shares. sort_shares() has replaced nodes by their positions in preorder. */
static int by_thread_and_time(const void *left, const void *right)
{
	const struct timeline_share *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

/* Sort the shares and merge equal ones. */
static int sort_shares(struct timeline *timeline)
{
	struct timeline_share *shares = timeline->shares;
	struct preorder preorder;
	size_t kept = 0;
	int error = preorder_init(&preorder, timeline->tree);

	if (error)
		return error;
	for (size_t i = 0; i < timeline->count; i++)
		shares[i].node = preorder.position[shares[i].node];
	if (timeline->count)
		qsort(shares, timeline->count, sizeof(*shares), by_thread_and_time);
	for (size_t i = 0; i < timeline->count; i++) {
		if (kept && !by_thread_and_time(&shares[kept - 1], &shares[i]))
			shares[kept - 1].weight += shares[i].weight;
		else
			shares[kept++] = shares[i];
	}
	for (size_t i = 0; i < kept; i++)
		shares[i].node = preorder.order[shares[i].node];
	timeline->count = kept;
	preorder_release(&preorder);
	return 0;
}

/* Find the heaviest line of each frame. It comes first among the frame's lines. */
static int find_lines(struct timeline *timeline)
{
	const struct calltree *tree = timeline->tree;

	timeline->lines = calloc((size_t)calltree_frames(tree) + 1, sizeof(*timeline->lines));
	if (!timeline->lines)
		return -ENOMEM;
	for (size_t i = calltree_lines(tree); i-- > 0;)
		timeline->lines[calltree_line_at(tree, i)->frame] = calltree_line_at(tree, i);
	return 0;
}

int timeline_init(struct timeline *timeline, const struct calltree *tree,
	const struct picture_options *options, bool by_line)
{
	int error;

	*timeline = (struct timeline){.tree = options->fine ? options->fine : tree};
	error = by_line ? transform_addresses(timeline->tree, &timeline->made[0])
			: transform_lines(timeline->tree, false, &timeline->made[0]);
	if (!error && timeline->made[0])
		timeline->tree = timeline->made[0];
	if (!error)
		error = transform_times(timeline->tree, options->times, &timeline->made[1]);
	if (!error && timeline->made[1])
		timeline->tree = timeline->made[1];
	if (!error)
		error = find_lines(timeline);
	if (!error)
		error = timeline_shares(timeline->tree, &timeline->shares, &timeline->count);
	if (!error)
		error = sort_shares(timeline);
	if (error)
		timeline_release(timeline);
	return error;
}

void timeline_release(struct timeline *timeline)
{
	free(timeline->shares);
	free(timeline->lines);
	calltree_free(timeline->made[1]);
	calltree_free(timeline->made[0]);
	*timeline = (struct timeline){.tree = NULL};
}

size_t timeline_thread(const struct timeline *timeline, size_t begin, uint64_t *weight)
{
	size_t end = begin;

	for (*weight = 0; end < timeline->count &&
			  timeline->shares[end].thread == timeline->shares[begin].thread;
		end++)
		*weight += timeline->shares[end].weight;
	return end;
}

static uint32_t thread_of(const struct timeline *timeline, size_t begin)
{
	return begin < timeline->count ? timeline->shares[begin].thread : TIMELINE_NO_THREAD;
}

const char *timeline_thread_name(const struct timeline *timeline, size_t begin)
{
	const char *name = calltree_thread_at(timeline->tree, thread_of(timeline, begin));

	return name ? name : timeline->count ? "[no thread]" : "[no samples]";
}

const char *timeline_process_name(const struct timeline *timeline, size_t begin)
{
	const char *name = calltree_process_at(timeline->tree, thread_of(timeline, begin));

	return name ? name : "";
}
