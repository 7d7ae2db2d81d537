/* SPDX-License-Identifier: MIT */
/*
 * Samples are taken thread by thread, so that the places of the nodes on the way to a leaf are
 * looked up once per thread and not once per sample.
 */
#include "render/transform_threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Not a thread: what weight without one is put under. */
#define NO_THREAD UINT32_MAX

struct threads {
	const struct calltree *from;
	struct calltree *to;
	const uint32_t *copied;
	uint32_t *place;    /* [node] -> its place below the thread at hand */
	uint32_t *epoch;    /* [node] -> the round @place was made in */
	uint32_t round;	    /* counts the threads, from 1 */
	uint32_t *path;	    /* nodes from a leaf to the first one with a place */
	uint64_t *rest;	    /* [node] -> weight not yet given away */
	uint32_t *owner;    /* [node] -> thread of its samples, NO_THREAD when of several */
	uint8_t *has_owner; /* [node] -> it has samples */
	size_t *order;	    /* samples by thread, in their order within one */
	uint32_t *placed;   /* [sample] -> new node */
};

static int threads_init(
	struct threads *threads, const struct calltree *from, const uint32_t *copied)
{
	size_t nodes = calltree_nodes(from), samples = calltree_samples(from) + 1;

	*threads = (struct threads){.from = from, .copied = copied};
	threads->place = calloc(nodes, sizeof(*threads->place));
	threads->epoch = calloc(nodes, sizeof(*threads->epoch));
	threads->path = calloc(nodes, sizeof(*threads->path));
	threads->rest = calloc(nodes, sizeof(*threads->rest));
	threads->owner = calloc(nodes, sizeof(*threads->owner));
	threads->has_owner = calloc(nodes, 1);
	threads->order = calloc(samples, sizeof(*threads->order));
	threads->placed = calloc(samples, sizeof(*threads->placed));
	if (!threads->place || !threads->epoch || !threads->path || !threads->rest ||
		!threads->owner || !threads->has_owner || !threads->order || !threads->placed)
		return -ENOMEM;
	for (uint32_t i = 0; i < nodes; i++)
		threads->rest[i] = calltree_node_at(from, i)->self;
	return 0;
}

static void threads_release(struct threads *threads)
{
	free(threads->place);
	free(threads->epoch);
	free(threads->path);
	free(threads->rest);
	free(threads->owner);
	free(threads->has_owner);
	free(threads->order);
	free(threads->placed);
}

static int compare_samples(const void *left, const void *right, void *data)
{
	const struct calltree *tree = data;
	size_t a = *(const size_t *)left, b = *(const size_t *)right;
	uint32_t thread_a = calltree_sample_at(tree, a)->thread;
	uint32_t thread_b = calltree_sample_at(tree, b)->thread;

	if (thread_a != thread_b)
		return thread_a < thread_b ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Begin with @thread: from here on its frame is the place of the root. */
static void enter(struct threads *threads, uint32_t thread)
{
	uint32_t root = CALLTREE_ROOT;

	if (thread != NO_THREAD) {
		const char *name = calltree_thread_at(threads->from, thread);
		char number[32];

		snprintf(number, sizeof(number), "thread %u", thread);
		root = calltree_child(threads->to, CALLTREE_ROOT,
			calltree_frame(threads->to, name ? name : number, "", CALLTREE_THREAD));
	}
	threads->round++;
	threads->place[CALLTREE_ROOT] = root;
	threads->epoch[CALLTREE_ROOT] = threads->round;
}

/* The place of @node below the thread entered last. */
static uint32_t find_place(struct threads *threads, uint32_t node)
{
	size_t steps = 0;

	for (; threads->epoch[node] != threads->round;
		node = calltree_node_at(threads->from, node)->parent)
		threads->path[steps++] = node;
	uint32_t place = threads->place[node];

	while (steps) {
		node = threads->path[--steps];
		place = calltree_child(threads->to, place,
			threads->copied[calltree_node_at(threads->from, node)->frame]);
		threads->place[node] = place;
		threads->epoch[node] = threads->round;
	}
	return place;
}

static void place_samples(struct threads *threads)
{
	size_t samples = calltree_samples(threads->from);

	for (size_t i = 0; i < samples; i++)
		threads->order[i] = i;
	qsort_r(threads->order, samples, sizeof(*threads->order), compare_samples,
		(void *)(uintptr_t)threads->from);
	for (size_t i = 0; i < samples; i++) {
		size_t number = threads->order[i];
		const struct calltree_sample *sample = calltree_sample_at(threads->from, number);
		uint32_t node = sample->node;
		uint64_t weight = sample->weight;

		if (!i || sample->thread !=
				  calltree_sample_at(threads->from, threads->order[i - 1])->thread)
			enter(threads, sample->thread);
		threads->placed[number] = find_place(threads, node);
		if (weight > threads->rest[node])
			weight = threads->rest[node];
		threads->rest[node] -= weight;
		calltree_add(threads->to, threads->placed[number], weight);
		if (threads->has_owner[node] && threads->owner[node] != sample->thread)
			threads->owner[node] = NO_THREAD;
		else
			threads->owner[node] = sample->thread;
		threads->has_owner[node] = 1;
	}
}

/* Weight that came without times. */
static void place_rest(struct threads *threads)
{
	uint32_t nodes = calltree_nodes(threads->from);

	enter(threads, NO_THREAD);
	for (uint32_t i = 0; i < nodes; i++)
		if (threads->rest[i] &&
			(!threads->has_owner[i] || threads->owner[i] == NO_THREAD)) {
			calltree_add(threads->to, find_place(threads, i), threads->rest[i]);
			threads->rest[i] = 0;
		}
	/* Rounds are dear: the places were forgotten, but all samples of a node share one. */
	for (size_t i = 0; i < calltree_samples(threads->from); i++) {
		uint32_t node = calltree_sample_at(threads->from, i)->node;

		if (threads->rest[node])
			calltree_add(threads->to, threads->placed[i], threads->rest[node]);
		threads->rest[node] = 0;
	}
}

int transform_threads(const struct calltree *from, const uint32_t *copied, struct calltree *to)
{
	struct threads threads;
	int error = threads_init(&threads, from, copied);

	if (error)
		goto out;
	threads.to = to;
	place_samples(&threads);
	place_rest(&threads);
	for (size_t i = 0; i < calltree_samples(from); i++) {
		struct calltree_sample sample = *calltree_sample_at(from, i);

		sample.node = threads.placed[i];
		calltree_sample(to, &sample);
	}
out:
	threads_release(&threads);
	return error;
}
