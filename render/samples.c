/* SPDX-License-Identifier: MIT */
/*
 * Sort and encode samples. The tree has them in the order of draining: per thread, in long runs
 * that are already sorted by time.
 */
#include "render/samples.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

static const struct calltree_sample *sample_at(const struct samples *samples, size_t i)
{
	return calltree_sample_at(samples->tree, samples->order ? samples->order[i] : i);
}

static uint64_t time_ns(const struct samples *samples, size_t i)
{
	return sample_at(samples, i)->time_ns;
}

/* Do samples have times? Without times, a sample only says to which thread its weight belongs. */
static bool have_times(const struct calltree *tree)
{
	for (size_t i = 0; i < calltree_samples(tree); i++)
		if (calltree_sample_at(tree, i)->time_ns >= 1000)
			return true;
	return false;
}

static int compare_times(const void *left, const void *right, void *data)
{
	const struct calltree *tree = data;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint64_t a_ns = calltree_sample_at(tree, a)->time_ns;
	uint64_t b_ns = calltree_sample_at(tree, b)->time_ns;

	if (a_ns != b_ns)
		return a_ns < b_ns ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int sort_samples(struct samples *samples)
{
	size_t sorted = 1;

	while (sorted < samples->count && time_ns(samples, sorted - 1) <= time_ns(samples, sorted))
		sorted++;
	if (sorted >= samples->count)
		return 0;
	samples->order = reallocarray(NULL, samples->count, sizeof(*samples->order));
	if (!samples->order)
		return -ENOMEM;
	for (size_t i = 0; i < samples->count; i++)
		samples->order[i] = (uint32_t)i;
	qsort_r(samples->order, samples->count, sizeof(*samples->order), compare_times,
		(void *)(uintptr_t)samples->tree);
	return 0;
}

int samples_init(
	struct samples *samples, const struct calltree *tree, const struct preorder *preorder)
{
	uint64_t most, last_us;

	*samples = (struct samples){.tree = tree,
		.preorder = preorder,
		.threads = calltree_threads(tree),
		.tick_us = 1};
	if (!have_times(tree))
		return 0;
	samples->count = calltree_samples(tree);
	if (samples->count > UINT32_MAX)
		return -E2BIG;
	if (sort_samples(samples))
		return -ENOMEM;
	for (size_t i = 0; i < samples->count; i++)
		if (calltree_sample_at(tree, i)->thread >= samples->threads)
			samples->threads = calltree_sample_at(tree, i)->thread + 1;
	most = samples->count > SAMPLES_MANY ? SAMPLES_MANY_TICKS : SAMPLES_TICKS;
	last_us = time_ns(samples, samples->count - 1) / 1000;
	while (last_us / samples->tick_us >= most)
		samples->tick_us *= 2;
	return 0;
}

static void fill_times(const struct samples *samples, uint32_t *values)
{
	uint64_t before = 0;

	for (size_t i = 0; i < samples->count; i++) {
		uint64_t ticks = time_ns(samples, i) / 1000 / samples->tick_us;

		values[i] = (uint32_t)(ticks - before);
		before = ticks;
	}
}

static int fill_nodes(const struct samples *samples, uint32_t *values)
{
	uint32_t *last = calloc(samples->threads + (size_t)1, sizeof(*last)); /* [thread] */

	if (!last)
		return -ENOMEM;
	for (size_t i = 0; i < samples->count; i++) {
		const struct calltree_sample *sample = sample_at(samples, i);
		uint32_t position = samples->preorder->position[sample->node];
		int32_t step = (int32_t)(position - last[sample->thread]);

		last[sample->thread] = position;
		values[i] = (uint32_t)step << 1 ^ (step < 0 ? UINT32_MAX : 0);
	}
	free(last);
	return 0;
}

int samples_fill(const struct samples *samples, enum samples_column column, uint32_t *values)
{
	switch (column) {
	case SAMPLES_TIMES:
		fill_times(samples, values);
		return 0;
	case SAMPLES_NODES:
		return fill_nodes(samples, values);
	default:
		break;
	}
	for (size_t i = 0; i < samples->count; i++) {
		const struct calltree_sample *sample = sample_at(samples, i);

		values[i] = column == SAMPLES_THREADS	? sample->thread
			    : column == SAMPLES_WEIGHTS ? sample->weight
							: sample->kind;
	}
	return 0;
}

void samples_release(struct samples *samples)
{
	free(samples->order);
	*samples = (struct samples){0};
}
