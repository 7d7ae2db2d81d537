/* SPDX-License-Identifier: MIT */
/*
 * What a call tree knows beside its weights: threads and the samples' times.
 */
#include "render/calltree_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 10000000u

void calltree_thread(struct calltree *tree, uint32_t thread, const char *name)
{
	if (tree->error)
		return;
	if (thread >= THREADS_MAX) {
		calltree_poison(tree, -E2BIG);
		return;
	}
	if (thread >= tree->thread_room) {
		uint32_t room = thread + thread / 2 + 16;
		const char **threads = reallocarray(tree->threads, room, sizeof(*threads));

		if (!threads) {
			calltree_poison(tree, -ENOMEM);
			return;
		}
		memset(threads + tree->thread_room, 0,
			(room - tree->thread_room) * sizeof(*threads));
		tree->threads = threads;
		tree->thread_room = room;
	}
	tree->threads[thread] = calltree_keep(tree, name);
	if (thread >= tree->thread_count)
		tree->thread_count = thread + 1;
}

void calltree_sample(struct calltree *tree, const struct calltree_sample *sample)
{
	if (tree->error)
		return;
	if (sample->node >= tree->node_count) {
		calltree_poison(tree, -EINVAL);
		return;
	}
	struct calltree_sample *samples = calltree_grow(
		tree, tree->samples, tree->sample_count, &tree->sample_room, sizeof(*samples));

	if (!samples)
		return;
	tree->samples = samples;
	samples[tree->sample_count++] = *sample;
}

uint32_t calltree_threads(const struct calltree *tree)
{
	return tree->thread_count;
}

size_t calltree_samples(const struct calltree *tree)
{
	return tree->sample_count;
}

const char *calltree_thread_at(const struct calltree *tree, uint32_t thread)
{
	return thread < tree->thread_count ? tree->threads[thread] : NULL;
}

const struct calltree_sample *calltree_sample_at(const struct calltree *tree, size_t sample)
{
	return &tree->samples[sample];
}
