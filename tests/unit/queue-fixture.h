/* SPDX-License-Identifier: MIT */
/* For tests of queue.c: a queue, an arena, and operations that several tests use on them. */
#ifndef TESTS_UNIT_QUEUE_FIXTURE_H
#define TESTS_UNIT_QUEUE_FIXTURE_H

#include "tests/unit/aggregate-fixture.h"

#include "libprof/profile/lookup.h"

#define MIB   (1u << 20)
#define NEVER UINT64_MAX

struct fixture {
	void *arena;
	uint32_t *doorbell;
	struct queue queue;
};

static inline int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->arena = aggregate_arena();
	f->doorbell = &((struct wire_arena *)f->arena)->doorbell;
	assert_int_equal(queue_init(&f->queue, 8 * MIB, f->arena, WIRE_BLOCKS_MIN, AGGREGATE_IMAGE),
		0);
	*state = f;
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *f = *state;

	queue_release(&f->queue);
	free(f->arena);
	free(f);
	assert_int_equal(pages_mapped_bytes, 0);
	return 0;
}

static inline void limit(struct fixture *f, size_t bytes)
{
	queue_release(&f->queue);
	assert_int_equal(
		queue_init(&f->queue, bytes, f->arena, WIRE_BLOCKS_MIN, AGGREGATE_IMAGE), 0);
}

/* Check that the samples in @batch have the times @first, @first + 1, ... Returns their number. */
static inline unsigned count_batch(const struct batch *batch, uint64_t first)
{
	unsigned n = 0;

	for (uint32_t at = 0; at < batch->bytes; n++) {
		const struct wire_sample *sample =
			(const struct wire_sample *)(batch->records + at);

		assert_int_equal(sample->time_ns, first + n);
		at += sample->bytes;
		assert_true(at <= batch->bytes);
	}
	return n;
}

static inline void push(uint32_t ring, uint64_t time_ns, unsigned depth)
{
	uint64_t frames[WIRE_MAX_DEPTH];

	for (unsigned i = 0; i < depth; i++)
		frames[i] = time_ns * 10000 + i;
	assert_int_equal(ring_push_at(ring, time_ns, 2, frames, depth), 0);
}

static inline struct queue_item *take_batch(struct fixture *f)
{
	struct queue_item *item = queue_pop(&f->queue);

	assert_non_null(item);
	assert_int_equal(item->kind, QUEUE_BATCH);
	return item;
}

static inline void fill_ring(uint32_t ring, unsigned *samples, unsigned *bytes)
{
	uint64_t frames[100] = {0};

	*samples = *bytes = 0;
	while (!ring_push_at(ring, 1 + *samples, 3, frames, 100)) {
		++*samples;
		*bytes += 824;
	}
}

#endif
