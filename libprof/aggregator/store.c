/* SPDX-License-Identifier: MIT */
/*
 * Samples into a profile. A thread's stacks mostly differ from one sample to the next at the leaf
 * side alone, so that the outer frames they share are compared, not looked up.
 */
#include "libprof/aggregator/store.h"

#include <errno.h>
#include <string.h>

#include "libprof/profile/profile.h"

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

/* The hashes of the path from @depth on. Returns that of the whole. */
static uint32_t hash_path(
	struct profile_step *path, const uint64_t *frames, uint32_t n, uint32_t depth)
{
	uint32_t hash = depth ? path[depth - 1].hash : 0;

	for (; depth < n; depth++) {
		hash = profile_path_hash(hash, frames[n - 1 - depth]);
		path[depth].hash = hash;
	}
	return hash;
}

/* Is @leaf the end of this stack? The nodes below @depth are known; those above come into @path. */
static int is_path_to(const struct flameprof_profile *p, uint32_t leaf, const uint64_t *frames,
	uint32_t n, uint32_t depth)
{
	struct profile_step *path = p->path.at;
	uint32_t node = leaf;

	while (n > depth && node) {
		const struct profile_node *at = profile_node(p, node);

		if (profile_node_frame(at) != (*frames++ & ~WIRE_FRAME_BY_FP))
			return 0;
		path[--n].node = node;
		node = at->parent;
	}
	return n == depth && node == (depth ? path[depth - 1].node : 0);
}

/* The stack that was sampled before, found without a look at the table of nodes. */
static uint32_t find_whole(const struct flameprof_profile *p, const struct profile_stack *key,
	const uint64_t *frames, uint32_t depth)
{
	struct lookup_probe probe = lookup_begin(&p->stack_lookup, profile_stack_hash(key));
	uint32_t number;

	while ((number = lookup_next(&p->stack_lookup, &probe))) {
		const struct profile_stack *stack = profile_stack(p, number - 1);

		if (stack->path_hash == key->path_hash && stack->thread == key->thread &&
			stack->kind == key->kind && stack->end == key->end &&
			stack->frames == key->frames &&
			is_path_to(p, stack->node, frames, key->frames, depth))
			break;
	}
	return number;
}

/* Slots first, then the nodes they lead to: each round waits for memory once, not once a frame. */
static void prefetch_nodes(const struct flameprof_profile *p, uint32_t n, uint32_t depth)
{
	const struct profile_step *path = p->path.at;

	if (!p->node_count)
		return;
	for (uint32_t i = depth; i < n; i++)
		lookup_prefetch(&p->node_lookup, path[i].hash);
	for (uint32_t i = depth; i < n; i++)
		__builtin_prefetch(profile_node(p, lookup_guess(&p->node_lookup, path[i].hash)));
}

/* Go down from the root as far as there are nodes. */
static void find_nodes(const struct flameprof_profile *p, const uint64_t *frames, uint32_t n,
	uint32_t depth, struct place *place)
{
	struct profile_step *path = p->path.at;
	uint32_t node = depth ? path[depth - 1].node : 0;

	prefetch_nodes(p, n, depth);
	for (; depth < n; depth++) {
		uint32_t child =
			profile_find_node(p, node, frames[n - 1 - depth], path[depth].hash);

		if (!child)
			break;
		path[depth].node = node = child;
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

static void take_last(const struct profile_stack *last, struct place *place)
{
	place->node = last->node;
	place->key.node = last->node;
	place->key.path_hash = last->path_hash;
	place->key.frames = last->frames;
	place->key.end = last->end;
}

/* A credit without frames goes where the thread was seen last. */
static void find_last(const struct adder *adder, struct place *place)
{
	const struct flameprof_profile *p = adder->profile;
	uint32_t last;

	if (!adder->thread)
		return;
	last = profile_thread(p, adder->thread - 1)->last_stack;
	if (last)
		take_last(profile_stack(p, last - 1), place);
	place->key.thread = adder->thread - 1;
	place->stack = profile_find_stack(p, &place->key);
}

/* A stack of its own: most were sampled before, or share most of their frames with one that was. */
static void find_frames(struct adder *adder, const uint64_t *frames, struct place *place)
{
	const struct flameprof_profile *p = adder->profile;
	const struct previous *previous = &adder->previous;
	uint32_t n = place->key.frames;
	uint32_t depth = shared_frames(previous, frames, n);

	place->key.path_hash = hash_path(p->path.at, frames, n, depth);
	if (adder->thread) {
		place->key.thread = adder->thread - 1;
		if (previous->stack && depth == n && previous->count == n &&
			profile_stack(p, previous->stack - 1)->kind == place->key.kind &&
			profile_stack(p, previous->stack - 1)->end == place->key.end)
			place->stack = previous->stack;
		else
			place->stack = find_whole(p, &place->key, frames, depth);
	}
	if (place->stack) {
		place->depth = n;
		place->node = profile_stack(p, place->stack - 1)->node;
		return;
	}
	find_nodes(p, frames, n, depth, place);
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
	struct profile_step *path = p->path.at;
	struct profile_thread *thread;
	struct profile_stack *stack;

	for (uint32_t n = sample->frames; place->depth < n; place->depth++) {
		struct profile_step *step = &path[place->depth];

		step->node = profile_commit_node(
			p, place->node, frames[n - 1 - place->depth], step->hash);
		place->node = step->node;
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
	if (sample->kind == WIRE_KIND_VM)
		p->vm_weight += sample->weight;
	if (sample->kind != WIRE_KIND_CREDIT && sample->kind != WIRE_KIND_VM)
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
	int error = pages_reserve(&adder->profile->account, &adder->profile->path,
		n * sizeof(struct profile_step));

	if (error)
		return error;
	find_thread(adder, sample->thread);
	if (!n && sample->kind == WIRE_KIND_CREDIT)
		find_last(adder, &place);
	else
		find_frames(adder, frames, &place);
	missing = n - place.depth;
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
			result->vm_samples += sample->kind == WIRE_KIND_VM;
			result->vm_weight += sample->kind == WIRE_KIND_VM ? sample->weight : 0;
			result->ends[sample->end] += sample->weight;
		}
		at += sample->bytes;
	}
	if (adder.thread)
		memcpy(profile_thread(p, adder.thread - 1)->name, batch->comm, WIRE_COMM_BYTES - 1);
}
