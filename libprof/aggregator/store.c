/* SPDX-License-Identifier: MIT */
/*
 * Samples into a profile. A thread's stacks mostly differ from one sample to the next at the leaf
 * side alone, so that the outer frames they share are compared, not looked up.
 */
#include "libprof/aggregator/store.h"

#include <errno.h>
#include <string.h>

#include "libprof/aggregator/profile.h"

/* The stack interned before the one at hand: its nodes are in profile->path. */
struct previous {
	const uint64_t *frames; /* leaf first, in the batch */
	uint32_t count;		/* 0: none */
	uint32_t stack;		/* index + 1 */
};

/* One batch being added. */
struct adder {
	struct flameprof_profile *profile;
	const char *name;
	struct previous previous;
	struct profile_thread_key key; /* of the thread looked up last */
	uint32_t thread;	       /* its index + 1, 0: there is none */
};

/* What a sample needs, found or still to be made. */
struct place {
	uint32_t depth; /* frames found, from the outermost; the rest is missing */
	uint32_t node;	/* the last one found */
	uint32_t stack; /* index + 1, 0: to be made */
	struct profile_stack key;
};

/* How many outermost frames of both stacks are the same. */
static uint32_t shared_frames(const struct previous *previous, const uint64_t *frames, uint32_t n)
{
	uint32_t most = n < previous->count ? n : previous->count;
	const uint64_t *a, *b;
	uint32_t i = most;

	if (!most)
		return 0;
	a = previous->frames + previous->count - most;
	b = frames + n - most;
	while (i && a[i - 1] == b[i - 1])
		i--;
	return most - i;
}

/* Go down from the root as far as there are nodes. */
static void find_nodes(
	struct adder *adder, const uint64_t *frames, uint32_t n, struct place *place)
{
	const struct flameprof_profile *p = adder->profile;
	uint32_t *path = p->path.at;
	uint32_t depth = shared_frames(&adder->previous, frames, n);
	uint32_t node = depth ? path[depth - 1] : 0;

	for (; depth < n; depth++) {
		uint32_t child = profile_find_node(p, node, frames[n - 1 - depth]);

		if (!child)
			break;
		path[depth] = node = child;
	}
	place->depth = depth;
	place->node = node;
}

static void find_thread(struct adder *adder, uint32_t number)
{
	if (adder->thread && adder->key.number == number)
		return;
	adder->key.number = number;
	adder->thread = profile_find_thread(adder->profile, &adder->key);
	adder->previous.stack = 0;
}

/* A credit without frames goes where the thread was seen last. */
static void find_last(const struct adder *adder, struct place *place)
{
	const struct flameprof_profile *p = adder->profile;
	const struct profile_thread *thread =
		adder->thread ? profile_thread(p, adder->thread - 1) : NULL;

	if (!thread || !thread->last_stack)
		return;
	const struct profile_stack *last = profile_stack(p, thread->last_stack - 1);
	place->node = last->node;
	place->key.frames = last->frames;
	place->key.end = last->end;
}

static void find_stack(const struct adder *adder, uint32_t missing, struct place *place)
{
	const struct previous *previous = &adder->previous;

	place->key.node = place->node;
	if (!adder->thread || missing)
		return;
	place->key.thread = adder->thread - 1;
	if (previous->stack) {
		const struct profile_stack *stack =
			profile_stack(adder->profile, previous->stack - 1);

		if (stack->node == place->node && stack->kind == place->key.kind &&
			stack->end == place->key.end) {
			place->stack = previous->stack;
			return;
		}
	}
	place->stack = profile_find_stack(adder->profile, &place->key);
}

/* All that is missing, or nothing. */
static int reserve(const struct adder *adder, uint32_t missing, const struct place *place)
{
	struct flameprof_profile *p = adder->profile;
	int error = profile_reserve_samples(p, 1);

	if (!error && missing)
		error = profile_reserve_nodes(p, missing);
	if (!error && !adder->thread)
		error = profile_reserve_thread(p);
	if (!error && !place->stack)
		error = profile_reserve_stack(p);
	return error;
}

static void commit(struct adder *adder, const struct wire_sample *sample, const uint64_t *frames,
	struct place *place)
{
	struct flameprof_profile *p = adder->profile;
	uint32_t *path = p->path.at;
	struct profile_thread *thread;
	struct profile_stack *stack;

	for (uint32_t n = sample->frames; place->depth < n; place->depth++) {
		place->node = profile_commit_node(p, place->node, frames[n - 1 - place->depth]);
		path[place->depth] = place->node;
	}
	if (!adder->thread)
		adder->thread = profile_commit_thread(p, &adder->key, adder->name);
	if (!place->stack) {
		place->key.node = place->node;
		place->key.thread = adder->thread - 1;
		place->stack = profile_commit_stack(p, &place->key);
	}
	stack = profile_stack(p, place->stack - 1);
	thread = profile_thread(p, adder->thread - 1);
	stack->samples++;
	stack->weight += sample->weight;
	thread->weight += sample->weight;
	p->weight += sample->weight;
	if (sample->kind != WIRE_KIND_CREDIT)
		thread->last_stack = place->stack;
	((struct flameprof_sample *)p->samples.at)[p->sample_count++] = (struct flameprof_sample){
		.time_ns = sample->time_ns,
		.stack = place->stack - 1,
		.weight = sample->weight,
	};
}

/* Returns 0, or -errno when the sample has no room: the profile is as it was. */
static int add(struct adder *adder, const struct wire_sample *sample, const uint64_t *frames)
{
	struct place place = {
		.key = {.frames = sample->frames, .kind = sample->kind, .end = sample->end},
	};
	uint32_t n = sample->frames;
	uint32_t missing;
	int error = pages_reserve(&adder->profile->account, &adder->profile->path, 4 * (size_t)n);

	if (error)
		return error;
	find_thread(adder, sample->thread);
	if (!n && sample->kind == WIRE_KIND_CREDIT)
		find_last(adder, &place);
	else
		find_nodes(adder, frames, n, &place);
	missing = n - place.depth;
	find_stack(adder, missing, &place);
	error = reserve(adder, missing, &place);
	if (error) {
		/* The path was walked for a stack that is not there now. */
		adder->previous = (struct previous){NULL, 0, 0};
		return error;
	}
	commit(adder, sample, frames, &place);
	if (n)
		adder->previous = (struct previous){frames, n, place.stack};
	return 0;
}

/* The batch is a copy, but of memory that the host may have written to. */
static int is_whole(const struct wire_sample *sample, uint32_t rest)
{
	return rest >= sizeof(*sample) && sample->frames <= WIRE_MAX_DEPTH &&
		sample->bytes == sizeof(*sample) + 8u * sample->frames && sample->bytes <= rest &&
		sample->kind < WIRE_KIND_COUNT && sample->end < WIRE_END_COUNT;
}

void store_add_batch(
	struct flameprof_profile *p, const struct batch *batch, struct store_result *result)
{
	struct adder adder = {
		.profile = p,
		.name = batch->comm,
		.key = {.image = batch->image, .tid = batch->tid},
	};

	for (uint32_t at = 0; at < batch->bytes;) {
		const struct wire_sample *sample =
			(const struct wire_sample *)(batch->records + at);

		if (!is_whole(sample, batch->bytes - at)) {
			result->damaged_samples++;
			result->damaged_bytes += batch->bytes - at;
			break;
		}
		if (add(&adder, sample, (const uint64_t *)(sample + 1))) {
			result->full_samples++;
			result->full_weight += sample->weight;
			result->full_bytes += sample->bytes;
		} else {
			result->samples++;
			result->weight += sample->weight;
			result->ends[sample->end] += sample->weight;
		}
		at += sample->bytes;
	}
	if (adder.thread)
		memcpy(profile_thread(p, adder.thread - 1)->name, batch->comm, WIRE_COMM_BYTES - 1);
}
