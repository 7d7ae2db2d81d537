/* SPDX-License-Identifier: MIT */
/*
 * Make input for tests of the aggregator: an arena whose rings a test fills as the sampling
 * signal's handler would, and records that a test makes by hand.
 */
#ifndef TESTS_UNIT_AGGREGATE_FIXTURE_H
#define TESTS_UNIT_AGGREGATE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libprof/aggregator/store.h"
#include "libprof/sampler/ring.h"

#define AGGREGATE_IMAGE 7ULL

/* bytes that may wait in one thread's ring; less than a block of the arena */
#define AGGREGATE_RING_BYTES (60u << 10)

/* Make an arena and have this process's sampler write to it. Free it with free(). */
static inline void *aggregate_arena(void)
{
	struct wire_arena *arena = calloc(1, wire_arena_bytes(WIRE_BLOCKS_MIN));

	arena->blocks = WIRE_BLOCKS_MIN;
	sampler.arena = arena;
	sampler.blocks = WIRE_BLOCKS_MIN;
	sampler.ring_bytes = AGGREGATE_RING_BYTES;
	sampler.hosted = 0;
	return arena;
}

/*
 * Return the thread that owns ring @index. If the ring is free, claim it for AGGREGATE_IMAGE first.
 */
static inline struct sampler_thread *aggregate_thread(uint32_t index)
{
	struct sampler_thread *thread = &sampler_threads[index];
	struct wire_arena *arena = sampler.arena;
	struct wire_ring *ring = wire_ring(arena, index);

	thread->ring = ring;
	thread->image = AGGREGATE_IMAGE;
	if (!ring->owner) {
		ring->tid = 100 + index;
		ring->owner = AGGREGATE_IMAGE << 2 | WIRE_RING_OWNED;
		ring->written = ring->taken = 0;
		snprintf(ring->comm, sizeof(ring->comm), "thread %u", index);
		sampler_raise_high(&arena->rings_high, index + 1);
	}
	return thread;
}

/* Returns the number of bytes in ring @index that the reader has not taken yet. */
static inline uint64_t ring_waiting(void *arena, uint32_t index)
{
	return wire_ring(arena, index)->written - wire_ring(arena, index)->taken;
}

/* Push a stack of @n frames, leaf first, into ring @index. Returns 0, or -1 if the ring is full. */
static inline int ring_push_at(uint32_t index, uint64_t time_ns, uint32_t weight,
	const uint64_t *frames, unsigned n)
{
	uint32_t bytes = (uint32_t)sizeof(struct wire_sample) + 8 * n, room;
	struct sampler_thread *thread = aggregate_thread(index);
	struct wire_sample *sample = ring_begin(thread, bytes, &room);

	if (!sample)
		return -1;
	*sample = (struct wire_sample){
		.bytes = bytes,
		.thread = index + 1,
		.time_ns = time_ns,
		.weight = weight,
		.frames = (uint16_t)n,
	};
	memcpy(sample + 1, frames, 8 * n);
	ring_commit(thread, bytes);
	return 0;
}

/* Records of one thread's ring. */
struct batch {
	uint32_t tid;
	uint64_t image;
	char comm[WIRE_COMM_BYTES];
	uint32_t bytes; /* of `records` */
	char records[] __attribute__((aligned(8)));
};

/* A batch to which records are added. */
struct batch_maker {
	struct batch *batch;
	uint64_t time_ns;
};

static inline void batch_begin(struct batch_maker *maker, uint32_t tid, const char *comm)
{
	maker->batch = calloc(1, sizeof(struct batch) + (1 << 20));
	maker->batch->tid = tid;
	maker->batch->image = AGGREGATE_IMAGE;
	snprintf(maker->batch->comm, WIRE_COMM_BYTES, "%.15s", comm);
	maker->time_ns = 1000;
}

/*
 * Append a record to the batch. Returns the record, so that the caller can change its other fields.
 */
static inline struct wire_sample *batch_add(struct batch_maker *maker, uint32_t thread,
	uint32_t weight, const uint64_t *frames, unsigned n)
{
	struct batch *batch = maker->batch;
	struct wire_sample *sample = (struct wire_sample *)(batch->records + batch->bytes);

	*sample = (struct wire_sample){
		.bytes = (uint32_t)sizeof(*sample) + 8 * n,
		.thread = thread,
		.time_ns = maker->time_ns++,
		.weight = weight,
		.frames = (uint16_t)n,
	};
	if (n)
		memcpy(sample + 1, frames, 8 * n);
	batch->bytes += sample->bytes;
	assert_true(batch->bytes <= 1 << 20);
	return sample;
}

static inline void batch_end(struct batch_maker *maker)
{
	free(maker->batch);
	maker->batch = NULL;
}

/* Write the batch's bytes into ring 0 of @arena, which is empty. No record crosses a block. */
static inline void batch_to_ring(const struct batch *batch, void *arena)
{
	struct wire_ring *ring = wire_ring(arena, 0);
	uint32_t block = 0, used = 0, bytes;

	for (uint32_t at = 0; at < batch->bytes; at += bytes, used += bytes) {
		uint32_t rest = batch->bytes - at;
		const struct wire_sample *sample =
			(const struct wire_sample *)(batch->records + at);

		bytes = wire_sample_is_whole(sample, rest) ? sample->bytes : rest;
		if (used + bytes > WIRE_BLOCK_BYTES) {
			wire_block(arena, block)->end = used;
			wire_block(arena, block)->next = block + 2;
			block++;
			used = 0;
		}
		wire_block(arena, block)->owner = WIRE_BLOCK_OWNER(batch->image, 0);
		memcpy(wire_block_data(arena, block) + used, batch->records + at, bytes);
	}
	ring->owner = batch->image << 2 | WIRE_RING_OWNED;
	ring->tid = batch->tid;
	memcpy(ring->comm, batch->comm, sizeof(ring->comm));
	ring->first = 1;
	ring->head = WIRE_HEAD(block, used);
	ring->written = batch->bytes;
	((struct wire_arena *)arena)->rings_high = 1;
	((struct wire_arena *)arena)->blocks_high = block + 1;
}

/* Add the batch to @profile through a ring, and free the batch. */
static inline struct store_result batch_store(
	struct batch_maker *maker, struct flameprof_profile *profile)
{
	struct wire_drain *drain = calloc(1, sizeof(*drain));
	struct store_result result = {0};

	drain->arena = calloc(1, wire_arena_bytes(WIRE_BLOCKS_MIN));
	drain->blocks = WIRE_BLOCKS_MIN;
	batch_to_ring(maker->batch, drain->arena);
	store_drain(profile, drain, maker->batch->image, UINT64_MAX, &result);
	free(drain->arena);
	free(drain);
	batch_end(maker);
	return result;
}

static inline struct flameprof_profile *aggregate_profile(size_t limit_bytes)
{
	struct profile_config config = {
		.period_ns = 5000000,
		.limit_bytes = limit_bytes,
		.title = "a title",
	};
	struct flameprof_profile *profile = profile_new(&config);

	assert_non_null(profile);
	store_begin(profile, 500, 1700000000);
	store_end(profile, 1000000500);
	return profile;
}

#define FRAMES(...) (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8

static inline uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
