/* SPDX-License-Identifier: MIT */
/*
 * Up to three passes, each from a tree to a new one: frames and roots, threads, direction. A pass
 * decides where each old node's own weight goes; weights and samples follow.
 */
#include "render/transform.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "render/calltree.h"

/* ---- threads --------------------------------------------------------------------------------- */

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
static void enter_thread(struct threads *threads, uint32_t thread)
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

static void add_samples(struct threads *threads)
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
			enter_thread(threads, sample->thread);
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
static void add_untimed(struct threads *threads)
{
	uint32_t nodes = calltree_nodes(threads->from);

	enter_thread(threads, NO_THREAD);
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

/*
 * Put every stack of @from into @to below a frame of its samples' thread, with weights and samples.
 * Weight that no sample accounts for goes to the thread of the stack's samples if they are all of
 * one, else it stays without a thread. @copied: each frame's number in @to. All are borrowed.
 * Returns 0 or -ENOMEM; what poisons @to shows there.
 */
static int transform_threads(
	const struct calltree *from, const uint32_t *copied, struct calltree *to)
{
	struct threads threads;
	int error = threads_init(&threads, from, copied);

	if (error)
		goto out;
	threads.to = to;
	add_samples(&threads);
	add_untimed(&threads);
	for (size_t i = 0; i < calltree_samples(from); i++) {
		struct calltree_sample sample = *calltree_sample_at(from, i);

		sample.node = threads.placed[i];
		calltree_sample(to, &sample);
	}
out:
	threads_release(&threads);
	return error;
}

/* Where a node's own weight is nowhere. */
#define NOWHERE UINT32_MAX

static uint32_t copy_frame(const struct calltree *from, struct calltree *to, uint32_t number)
{
	const struct calltree_frame *frame = calltree_frame_at(from, number);

	return calltree_frame(to, frame->name, frame->module, frame->kind);
}

/* Every frame of @from in @to. Returns owned numbers by number, or NULL without memory. */
static uint32_t *copy_frames(const struct calltree *from, struct calltree *to)
{
	uint32_t frames = calltree_frames(from);
	uint32_t *copied = calloc((size_t)frames + 1, sizeof(*copied));

	for (uint32_t i = 0; copied && i < frames; i++)
		copied[i] = copy_frame(from, to, i);
	return copied;
}

/* The weights and samples of @from to the nodes of @to that @place says. */
static void copy_weights(
	const struct calltree *from, struct calltree *to, const uint32_t *place, uint64_t *left_out)
{
	for (uint32_t i = 0; i < calltree_nodes(from); i++) {
		uint64_t self = calltree_node_at(from, i)->self;

		if (place[i] == NOWHERE)
			*left_out += self;
		else if (self)
			calltree_add(to, place[i], self);
	}
	for (size_t i = 0; i < calltree_samples(from); i++) {
		struct calltree_sample sample = *calltree_sample_at(from, i);

		sample.node = place[sample.node];
		if (sample.node != NOWHERE)
			calltree_sample(to, &sample);
	}
}

static void copy_threads(const struct calltree *from, struct calltree *to)
{
	for (uint32_t i = 0; i < calltree_threads(from); i++) {
		const char *name = calltree_thread_at(from, i);

		if (name)
			calltree_thread(to, i, name);
	}
}

enum match {
	IS_ROOT = 1,
	IS_HIDDEN = 2,
	IS_COPIED = 4, /* noted on the way */
};

/* What the caller says of each frame, asked once each. Returns owned bits, or NULL. */
static uint8_t *match_frames(const struct calltree *from, const struct transform_options *options)
{
	uint32_t frames = calltree_frames(from);
	uint8_t *matches = calloc((size_t)frames + 1, 1);

	for (uint32_t i = 0; matches && i < frames; i++) {
		const struct calltree_frame *frame = calltree_frame_at(from, i);

		if (!options->root || options->root(frame, options->root_context))
			matches[i] |= IS_ROOT;
		if (options->hide && options->hide(frame, options->hide_context))
			matches[i] |= IS_HIDDEN;
	}
	return matches;
}

/* Stacks from their root on and without hidden frames. Only frames that stay are copied. */
static int filter_pass(const struct calltree *from, const struct transform_options *options,
	struct calltree *to, uint64_t *left_out)
{
	uint32_t nodes = calltree_nodes(from);
	uint32_t *copied = calloc((size_t)calltree_frames(from) + 1, sizeof(*copied));
	uint32_t *place = calloc(nodes, sizeof(*place));
	uint8_t *matches = match_frames(from, options);
	int error = -ENOMEM;

	if (!copied || !place || !matches)
		goto out;
	place[CALLTREE_ROOT] = options->root ? NOWHERE : CALLTREE_ROOT;
	for (uint32_t i = 1; i < nodes; i++) {
		const struct calltree_node *node = calltree_node_at(from, i);
		uint32_t parent = place[node->parent];
		uint8_t match = matches[node->frame];

		place[i] = parent;
		if (parent == NOWHERE && (match & IS_ROOT))
			parent = place[i] = CALLTREE_ROOT;
		if (parent == NOWHERE || (match & IS_HIDDEN))
			continue;
		if (!(match & IS_COPIED)) {
			copied[node->frame] = copy_frame(from, to, node->frame);
			matches[node->frame] |= IS_COPIED;
		}
		place[i] = calltree_child(to, parent, copied[node->frame]);
	}
	/* Only now: below a node that became empty there may be frames that stay. */
	for (uint32_t i = 1; i < nodes; i++)
		if (place[i] == CALLTREE_ROOT)
			place[i] = NOWHERE;
	copy_weights(from, to, place, left_out);
	error = 0;
out:
	free(copied);
	free(place);
	free(matches);
	return error;
}

/*
 * Where the stack that ends at @leaf begins when it is turned round: below its thread's frame if it
 * has one, which stays the root.
 */
static uint32_t reverse_stack(const struct calltree *from, struct calltree *to,
	const uint32_t *copied, int by_thread, uint32_t leaf)
{
	uint32_t place = CALLTREE_ROOT, stop = CALLTREE_ROOT, top = leaf;

	if (by_thread) {
		while (calltree_node_at(from, top)->parent != CALLTREE_ROOT)
			top = calltree_node_at(from, top)->parent;
		uint32_t frame = calltree_node_at(from, top)->frame;

		if (calltree_frame_at(from, frame)->kind == CALLTREE_THREAD) {
			place = calltree_child(to, CALLTREE_ROOT, copied[frame]);
			stop = top;
		}
	}
	for (uint32_t at = leaf; at != stop; at = calltree_node_at(from, at)->parent)
		place = calltree_child(to, place, copied[calltree_node_at(from, at)->frame]);
	return place;
}

/* Every stack from its leaf to its root. */
static int reverse_pass(const struct calltree *from, const struct transform_options *options,
	struct calltree *to, uint64_t *left_out)
{
	uint32_t nodes = calltree_nodes(from);
	uint32_t *copied = copy_frames(from, to), *place = calloc(nodes, sizeof(*place));
	uint8_t *used = calloc(nodes, 1);
	int error = -ENOMEM;

	if (!copied || !place || !used)
		goto out;
	for (size_t i = 0; i < calltree_samples(from); i++)
		used[calltree_sample_at(from, i)->node] = 1;
	for (uint32_t i = 1; i < nodes; i++)
		if (used[i] || calltree_node_at(from, i)->self)
			place[i] = reverse_stack(from, to, copied, options->by_thread, i);
	copy_weights(from, to, place, left_out);
	error = 0;
out:
	free(copied);
	free(place);
	free(used);
	return error;
}

static int thread_pass(const struct calltree *from, const struct transform_options *options,
	struct calltree *to, uint64_t *left_out)
{
	uint32_t *copied = copy_frames(from, to);
	int error = copied ? transform_threads(from, copied, to) : -ENOMEM;

	(void)options;
	(void)left_out;
	free(copied);
	return error;
}

typedef int pass_fn(const struct calltree *from, const struct transform_options *options,
	struct calltree *to, uint64_t *left_out);

static int run_pass(const struct calltree *from, const struct transform_options *options,
	pass_fn *pass, struct calltree **out, uint64_t *left_out)
{
	struct calltree *to = calltree_new();
	int error = -ENOMEM;

	if (!to)
		return error;
	copy_threads(from, to);
	error = pass(from, options, to, left_out);
	if (!error)
		error = calltree_finish(to);
	if (error)
		calltree_free(to);
	else
		*out = to;
	return error;
}

int transform_tree(const struct calltree *tree, const struct transform_options *options,
	struct calltree **out, uint64_t *left_out)
{
	pass_fn *const passes[] = {
		filter_pass, /* with nothing to filter it copies */
		options->by_thread ? thread_pass : NULL,
		options->reverse ? reverse_pass : NULL,
	};
	struct calltree *made = NULL;
	uint64_t lost = 0;

	for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++) {
		struct calltree *next;

		if (!passes[i])
			continue;
		int error = run_pass(made ? made : tree, options, passes[i], &next, &lost);

		calltree_free(made);
		if (error)
			return error;
		made = next;
	}
	*out = made;
	*left_out = lost;
	return 0;
}
