/* SPDX-License-Identifier: MIT */
/*
 * Rings through the queue: nothing is lost or moved across a boundary, the ceiling drops the newest
 * batch whole, barriers are answered in order and can be given up at any moment.
 */
#include "tests/unit/aggregate-fixture.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "libprof/aggregator/pages.h"
#include "libprof/sampler/clock.h"

#define MIB   (1u << 20)
#define NEVER UINT64_MAX

struct fixture {
	void *arena;
	uint32_t doorbell;
	struct queue queue;
	uint64_t rings[WIRE_RINGS / 64];
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->arena = calloc(1, WIRE_ARENA_BYTES);
	assert_int_equal(queue_init(&f->queue, 8 * MIB, &f->doorbell), 0);
	f->rings[0] = 0xf;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	queue_release(&f->queue);
	free(f->arena);
	free(f);
	assert_int_equal(pages_mapped_bytes, 0);
	return 0;
}

static void limit(struct fixture *f, size_t bytes)
{
	queue_release(&f->queue);
	assert_int_equal(queue_init(&f->queue, bytes, &f->doorbell), 0);
}

/* Samples in a batch; what they say must be @first, @first + 1, ... */
static unsigned count_batch(const struct batch *batch, uint64_t first)
{
	unsigned n = 0;

	for (uint32_t at = 0; at < batch->bytes; n++) {
		const struct wire_sample *sample = (const struct wire_sample *)(batch->records + at);

		assert_int_equal(sample->time_ns, first + n);
		at += sample->bytes;
		assert_true(at <= batch->bytes);
	}
	return n;
}

static void push(struct fixture *f, uint32_t ring, uint64_t time_ns, unsigned depth)
{
	uint64_t frames[WIRE_MAX_DEPTH];

	for (unsigned i = 0; i < depth; i++)
		frames[i] = time_ns * 10000 + i;
	assert_int_equal(ring_push_at(f->arena, ring, time_ns, 2, frames, depth), 0);
}

static struct queue_item *take_batch(struct fixture *f)
{
	struct queue_item *item = queue_take(&f->queue);

	assert_non_null(item);
	assert_int_equal(item->kind, QUEUE_BATCH);
	return item;
}

static void a_batch_is_what_the_ring_held(void **state)
{
	struct fixture *f = *state;
	struct queue_item *item;

	for (unsigned i = 1; i <= 10; i++)
		push(f, 2, i, i);
	assert_int_equal(queue_harvest(&f->queue, f->arena, 2, NEVER), 10 * 24 + 55 * 8);
	assert_int_equal(ring_fill(wire_ring(f->arena, 2)), 0);
	assert_int_equal(f->doorbell, 1);
	item = take_batch(f);
	assert_int_equal(item->batch->tid, 102);
	assert_int_equal(item->batch->ring, 2);
	assert_int_equal(item->batch->image, AGGREGATE_IMAGE);
	assert_string_equal(item->batch->comm, "thread 2");
	assert_int_equal(count_batch(item->batch, 1), 10);
	assert_true(f->queue.pending_bytes > 0);
	queue_done(&f->queue, item);
	assert_int_equal(f->queue.pending_bytes, 0);
	assert_null(queue_take(&f->queue));
	assert_int_equal(queue_harvest(&f->queue, f->arena, 2, NEVER), 0);
	assert_int_equal(f->doorbell, 1);
}

/* Records of all sizes around a ring that turns many times; each frame is looked at. */
static void records_survive_the_turn_of_the_ring(void **state)
{
	struct fixture *f = *state;
	uint64_t written = 0, read = 0, random = 5;

	while (wire_ring(f->arena, 0)->head < 20 * (uint64_t)WIRE_RING_SPAN) {
		for (unsigned i = next_random(&random) % 9; i; i--) {
			unsigned depth = next_random(&random) % 32 ? next_random(&random) % 40
								  : next_random(&random) % WIRE_MAX_DEPTH;

			if (ring_fill(wire_ring(f->arena, 0)) + WIRE_RECORD_MAX > WIRE_RING_SPAN)
				break;
			push(f, 0, ++written, depth);
		}
		queue_harvest(&f->queue, f->arena, 0, NEVER);
		for (struct queue_item *item; (item = queue_take(&f->queue));) {
			for (uint32_t at = 0; at < item->batch->bytes;) {
				const struct wire_sample *s =
					(const struct wire_sample *)(item->batch->records + at);
				const uint64_t *frames = (const uint64_t *)(s + 1);

				assert_int_equal(s->time_ns, ++read);
				for (unsigned i = 0; i < s->frames; i++)
					assert_int_equal(frames[i], read * 10000 + i);
				at += s->bytes;
			}
			queue_done(&f->queue, item);
		}
	}
	assert_int_equal(read, written);
	assert_true(read > 1000);
}

static void a_boundary_is_exact(void **state)
{
	struct fixture *f = *state;
	struct queue_item *item;

	for (unsigned i = 1; i <= 10; i++)
		push(f, 0, i, 3);
	queue_harvest(&f->queue, f->arena, 0, 7);
	item = take_batch(f);
	assert_int_equal(count_batch(item->batch, 1), 7);
	queue_done(&f->queue, item);
	assert_int_equal(ring_fill(wire_ring(f->arena, 0)), 3 * 48);
	queue_harvest(&f->queue, f->arena, 0, 7);
	assert_null(queue_take(&f->queue));
	queue_harvest(&f->queue, f->arena, 0, NEVER);
	item = take_batch(f);
	assert_int_equal(count_batch(item->batch, 8), 3);
	queue_done(&f->queue, item);
}

/* What is in a ring and not yet in any batch is before the barrier; what comes later is behind. */
static void a_barrier_harvests_partial_batches_first(void **state)
{
	struct fixture *f = *state;
	struct barrier barrier = {0};
	struct queue_item *item;

	push(f, 0, 1, 3);
	push(f, 3, 1, 3);
	assert_int_equal(queue_add_barrier(&f->queue, f->arena, f->rings, &barrier), 0);
	push(f, 0, clock_monotonic_ns(), 3);
	queue_harvest(&f->queue, f->arena, 0, NEVER);
	item = take_batch(f);
	assert_int_equal(item->batch->ring, 0);
	queue_done(&f->queue, item);
	item = take_batch(f);
	assert_int_equal(item->batch->ring, 3);
	queue_done(&f->queue, item);
	item = queue_take(&f->queue);
	assert_int_equal(item->kind, QUEUE_BARRIER);
	assert_ptr_equal(item->barrier, &barrier);
	assert_int_equal(barrier.state, BARRIER_TAKEN);
	queue_answer(item, 0, (struct flameprof_profile *)f);
	assert_int_equal(queue_wait(&barrier, -1), 0);
	assert_ptr_equal(barrier.result, f);
	item = take_batch(f);
	assert_true(((const struct wire_sample *)item->batch->records)->time_ns >
		barrier.boundary_ns);
	queue_done(&f->queue, item);
}

static void a_record_later_than_the_boundary_stays(void **state)
{
	struct fixture *f = *state;
	struct barrier barrier = {0};

	/* As if its handler had read the clock after the flush did. */
	push(f, 0, clock_monotonic_ns() + 1000000000000, 3);
	assert_int_equal(queue_add_barrier(&f->queue, f->arena, f->rings, &barrier), 0);
	assert_int_equal(ring_fill(wire_ring(f->arena, 0)), 48);
	assert_int_equal(queue_wait(&barrier, 0), -ETIMEDOUT);
}

static void items_come_first_in_first_out(void **state)
{
	struct fixture *f = *state;
	struct barrier barriers[3] = {{0}};
	struct queue_item *item;

	for (unsigned i = 0; i < 3; i++) {
		push(f, 0, i, 3);
		queue_harvest(&f->queue, f->arena, 0, NEVER);
		queue_add_barrier(&f->queue, f->arena, f->rings, &barriers[i]);
	}
	for (unsigned i = 0; i < 3; i++) {
		item = take_batch(f);
		assert_int_equal(count_batch(item->batch, i), 1);
		queue_done(&f->queue, item);
		item = queue_take(&f->queue);
		assert_ptr_equal(item->barrier, &barriers[i]);
		assert_true(!i || barriers[i].boundary_ns >= barriers[i - 1].boundary_ns);
		queue_answer(item, -5 - (int)i, NULL);
		assert_int_equal(queue_wait(&barriers[i], 1000), -5 - (int)i);
	}
	assert_null(queue_take(&f->queue));
}

static void fill_ring(struct fixture *f, uint32_t ring, unsigned *samples, unsigned *bytes)
{
	uint64_t frames[100] = {0};

	*samples = *bytes = 0;
	while (!ring_push_at(f->arena, ring, 1 + *samples, 3, frames, 100)) {
		++*samples;
		*bytes += 824;
	}
}

static void the_ceiling_drops_the_newest_batch_whole(void **state)
{
	struct fixture *f = *state;
	struct queue_counters counters;
	unsigned samples, bytes, kept = 0;
	size_t before;

	limit(f, 256 * 1024);
	for (unsigned turn = 0; turn < 5; turn++) {
		fill_ring(f, 0, &samples, &bytes);
		assert_int_equal(queue_harvest(&f->queue, f->arena, 0, NEVER), bytes);
		assert_int_equal(ring_fill(wire_ring(f->arena, 0)), 0);
		assert_true(f->queue.pending_bytes <= 256 * 1024);
	}
	before = f->queue.pending_bytes;
	queue_counters_take(&f->queue, &counters);
	assert_true(counters.high_water_bytes > 256 * 1024);
	assert_true(counters.dropped_batches >= 5);
	assert_int_equal(counters.dropped_weight, 3 * counters.dropped_samples);
	assert_int_equal(counters.dropped_bytes, 824 * counters.dropped_samples);
	/* The second reading begins anew, the high water with what is pending. */
	queue_counters_take(&f->queue, &counters);
	assert_int_equal(counters.dropped_batches, 0);
	assert_int_equal(counters.dropped_samples, 0);
	assert_int_equal(counters.high_water_bytes, before);
	/* The oldest are what was kept. */
	for (struct queue_item *item; (item = queue_take(&f->queue));) {
		unsigned n = count_batch(item->batch, kept % samples + 1);

		assert_in_range(item->batch->bytes, 1, f->queue.batch_bytes);
		kept += n;
		queue_done(&f->queue, item);
	}
	assert_true(kept > samples);
	queue_counters_take(&f->queue, &counters);
	queue_counters_take(&f->queue, &counters);
	assert_int_equal(counters.high_water_bytes, 0);
}

static void a_taken_batch_counts_until_it_is_done(void **state)
{
	struct fixture *f = *state;
	struct queue_counters counters;
	struct queue_item *item;
	unsigned samples, bytes;

	limit(f, 110 * 1024);
	fill_ring(f, 0, &samples, &bytes);
	queue_harvest(&f->queue, f->arena, 0, NEVER);
	queue_counters_take(&f->queue, &counters);
	assert_int_equal(counters.dropped_batches, 0);
	item = take_batch(f);
	fill_ring(f, 0, &samples, &bytes);
	queue_harvest(&f->queue, f->arena, 0, NEVER);
	queue_counters_take(&f->queue, &counters);
	assert_true(counters.dropped_batches > 0);
	queue_done(&f->queue, item);
}

static void a_ceiling_of_one_byte_drops_everything(void **state)
{
	struct fixture *f = *state;
	struct queue_counters counters;
	struct barrier barrier = {0};
	struct queue_item *item;
	unsigned samples, bytes;

	limit(f, 1);
	fill_ring(f, 0, &samples, &bytes);
	/* The flush succeeds; that its batch was dropped is for the counters to say. */
	assert_int_equal(queue_add_barrier(&f->queue, f->arena, f->rings, &barrier), 0);
	assert_int_equal(ring_fill(wire_ring(f->arena, 0)), 0);
	item = queue_take(&f->queue);
	assert_int_equal(item->kind, QUEUE_BARRIER);
	queue_answer(item, 0, NULL);
	assert_int_equal(queue_wait(&barrier, 0), 0);
	queue_counters_take(&f->queue, &counters);
	assert_int_equal(counters.dropped_samples, samples);
	assert_int_equal(counters.dropped_weight, 3 * samples);
	assert_int_equal(counters.dropped_bytes, bytes);
	assert_true(counters.high_water_bytes > 1);
}

static void blocks_are_used_again_and_bounded(void **state)
{
	struct fixture *f = *state;
	struct queue_item *items[2], *item;
	unsigned samples, bytes;

	limit(f, 2 * MIB);
	for (unsigned turn = 0; turn < 2; turn++) {
		fill_ring(f, 0, &samples, &bytes);
		queue_harvest(&f->queue, f->arena, 0, NEVER);
		items[turn] = take_batch(f);
		/* What the first round wrote is not in the second's way. */
		assert_int_equal(count_batch(items[turn]->batch, 1), samples);
		queue_done(&f->queue, items[turn]);
	}
	assert_ptr_equal(items[0], items[1]);
	assert_true(f->queue.spare_bytes > 0);
	/* A small batch does not take a large block. */
	push(f, 0, 1, 3);
	queue_harvest(&f->queue, f->arena, 0, NEVER);
	item = take_batch(f);
	assert_ptr_not_equal(item, items[0]);
	assert_true(f->queue.pending_bytes < 3 * 65536);
	queue_done(&f->queue, item);
	for (unsigned turn = 0; turn < 10; turn++) {
		fill_ring(f, 0, &samples, &bytes);
		queue_harvest(&f->queue, f->arena, 0, NEVER);
	}
	while ((item = queue_take(&f->queue)))
		queue_done(&f->queue, item);
	assert_int_equal(f->queue.pending_bytes, 0);
	assert_in_range(f->queue.spare_bytes, 1, 2 * MIB / 8);
	assert_int_equal(pages_mapped_bytes, f->queue.spare_bytes);
}

static void without_memory_batches_are_dropped_and_counted(void **state)
{
	struct fixture *f = *state;
	struct queue_counters counters;

	push(f, 0, 1, 3);
	pages_fail_in = 1;
	assert_int_equal(queue_harvest(&f->queue, f->arena, 0, NEVER), 48);
	queue_counters_take(&f->queue, &counters);
	assert_int_equal(counters.dropped_samples, 1);
	assert_int_equal(f->queue.pending_bytes, 0);
	assert_null(queue_take(&f->queue));
}

static void damage_is_skipped_and_counted(void **state)
{
	struct fixture *f = *state;

	for (unsigned kind = 0; kind < 5; kind++) {
		struct wire_ring *ring = wire_ring(f->arena, 0);
		struct queue_counters counters;
		struct wire_sample *bad;

		push(f, 0, 1, 3);
		bad = (struct wire_sample *)(wire_ring_data(f->arena, 0) + ring->head % WIRE_RING_SPAN);
		push(f, 0, 2, 3);
		push(f, 0, 3, 3);
		switch (kind) {
		case 0: bad->bytes = 0; break;
		case 1: bad->bytes = 16; break;
		case 2: bad->frames = 65535; bad->bytes = 24 + 8 * 65535; break;
		case 3: bad->frames = 13; bad->bytes = 24 + 8 * 13; break; /* beyond the head */
		case 4: bad->bytes = 0xffffffff; break;
		}
		assert_int_equal(queue_harvest(&f->queue, f->arena, 0, NEVER), 3 * 48);
		struct queue_item *item = take_batch(f);
		assert_int_equal(count_batch(item->batch, 1), 1);
		queue_done(&f->queue, item);
		queue_counters_take(&f->queue, &counters);
		assert_int_equal(counters.damaged_samples, 1);
		assert_int_equal(counters.damaged_bytes, 2 * 48);
		/* The ring goes on. */
		push(f, 0, 9, 3);
		queue_harvest(&f->queue, f->arena, 0, NEVER);
		item = take_batch(f);
		assert_int_equal(count_batch(item->batch, 9), 1);
		queue_done(&f->queue, item);
	}
}

static void a_wild_head_is_survived(void **state)
{
	struct fixture *f = *state;
	struct queue_counters counters;

	wire_ring(f->arena, 0)->head = 1ULL << 60;
	queue_harvest(&f->queue, f->arena, 0, NEVER);
	queue_counters_take(&f->queue, &counters);
	assert_int_equal(counters.damaged_samples, 1);
	assert_null(queue_take(&f->queue));
	push(f, 0, 1, 3);
	assert_int_equal(queue_harvest(&f->queue, f->arena, 0, NEVER), 48);
}

static void a_barrier_given_up_is_nobodys(void **state)
{
	struct fixture *f = *state;
	struct barrier barriers[3] = {{0}};
	uint64_t before_ns;

	for (unsigned i = 0; i < 3; i++)
		queue_add_barrier(&f->queue, f->arena, f->rings, &barriers[i]);
	before_ns = clock_monotonic_ns();
	assert_int_equal(queue_wait(&barriers[1], 20), -ETIMEDOUT);
	assert_true(clock_monotonic_ns() - before_ns >= 20000000);
	memset(&barriers[1], 0xff, sizeof(barriers[1]));
	assert_ptr_equal(queue_take(&f->queue)->barrier, &barriers[0]);
	assert_int_equal(queue_wait(&barriers[2], 0), -ETIMEDOUT);
	memset(&barriers[2], 0xff, sizeof(barriers[2]));
	assert_null(queue_take(&f->queue));
	push(f, 0, 1, 3);
	queue_harvest(&f->queue, f->arena, 0, NEVER);
	queue_done(&f->queue, take_batch(f));
}

static void *wait_without_limit(void *barrier)
{
	return (void *)(intptr_t)queue_wait(barrier, -1);
}

static void stop_wakes_who_waits_and_refuses_more(void **state)
{
	struct fixture *f = *state;
	struct barrier barriers[4] = {{0}}, late = {0}, taken = {0};
	pthread_t threads[4];
	void *result;

	queue_add_barrier(&f->queue, f->arena, f->rings, &taken);
	struct queue_item *item = queue_take(&f->queue);
	for (unsigned i = 0; i < 4; i++) {
		queue_add_barrier(&f->queue, f->arena, f->rings, &barriers[i]);
		pthread_create(&threads[i], NULL, wait_without_limit, &barriers[i]);
	}
	push(f, 0, 1, 3);
	queue_harvest(&f->queue, f->arena, 0, NEVER);
	usleep(1000);
	queue_stop(&f->queue);
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(threads[i], &result);
		assert_int_equal((intptr_t)result, -ECANCELED);
	}
	assert_int_equal(queue_add_barrier(&f->queue, f->arena, f->rings, &late), -ECANCELED);
	/* What the worker has begun it ends; what was queued besides is not lost. */
	queue_answer(item, 0, NULL);
	assert_int_equal(queue_wait(&taken, 0), 0);
	queue_done(&f->queue, take_batch(f));
	assert_null(queue_take(&f->queue));
}

/* ---- races: run under TSan, too ------------------------------------------------------------------ */

struct race {
	struct fixture *f;
	uint32_t stop;
	uint64_t taken, answered, timed_out, cancelled, served;
};

static void *race_worker(void *argument)
{
	struct race *race = argument;

	for (;;) {
		int last = __atomic_load_n(&race->stop, __ATOMIC_ACQUIRE);
		struct queue_item *item = queue_take(&race->f->queue);

		if (!item && last)
			return NULL;
		if (!item) {
			sched_yield();
		} else if (item->kind == QUEUE_BATCH) {
			for (uint32_t at = 0; at < item->batch->bytes; race->taken++)
				at += ((struct wire_sample *)(item->batch->records + at))->bytes;
			queue_done(&race->f->queue, item);
		} else {
			race->answered++;
			queue_answer(item, 0, (struct flameprof_profile *)race);
		}
	}
}

static void *race_flush(void *argument)
{
	struct race *race = argument;
	uint64_t random = (uintptr_t)&random;

	for (unsigned i = 0; i < 3000; i++) {
		struct barrier barrier = {0};
		int error = queue_add_barrier(
			&race->f->queue, race->f->arena, race->f->rings, &barrier);

		if (!error)
			error = queue_wait(&barrier, next_random(&random) % 3 ? 0 : -1);
		if (!error)
			assert_ptr_equal(barrier.result, race);
		else
			assert_null(barrier.result);
		__atomic_fetch_add(error == 0 ? &race->served
					      : error == -ETIMEDOUT ? &race->timed_out
								    : &race->cancelled,
			1, __ATOMIC_RELAXED);
		memset(&barrier, 0xff, sizeof(barrier));
	}
	return NULL;
}

static void barriers_are_served_or_given_up_and_never_both(void **state)
{
	struct fixture *f = *state;
	struct race race = {.f = f};
	pthread_t worker, flushers[4];
	uint64_t pushed = 0;

	pthread_create(&worker, NULL, race_worker, &race);
	for (unsigned i = 0; i < 4; i++)
		pthread_create(&flushers[i], NULL, race_flush, &race);
	for (unsigned i = 0; i < 20000; i++) {
		pushed += !ring_push_at(f->arena, 0, 1, 1, FRAMES(1, 2, 3));
		if (i % 100 == 0)
			queue_harvest(&f->queue, f->arena, 0, NEVER);
		if (i == 19000)
			queue_stop(&f->queue);
	}
	for (unsigned i = 0; i < 4; i++)
		pthread_join(flushers[i], NULL);
	queue_harvest(&f->queue, f->arena, 0, NEVER);
	__atomic_store_n(&race.stop, 1, __ATOMIC_RELEASE);
	pthread_join(worker, NULL);
	assert_int_equal(race.taken, pushed);
	assert_int_equal(race.answered, race.served);
	assert_int_equal(race.served + race.timed_out + race.cancelled, 12000);
	assert_int_equal(f->queue.pending_bytes, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_batch_is_what_the_ring_held),
		TEST(records_survive_the_turn_of_the_ring),
		TEST(a_boundary_is_exact),
		TEST(a_barrier_harvests_partial_batches_first),
		TEST(a_record_later_than_the_boundary_stays),
		TEST(items_come_first_in_first_out),
		TEST(the_ceiling_drops_the_newest_batch_whole),
		TEST(a_taken_batch_counts_until_it_is_done),
		TEST(a_ceiling_of_one_byte_drops_everything),
		TEST(blocks_are_used_again_and_bounded),
		TEST(without_memory_batches_are_dropped_and_counted),
		TEST(damage_is_skipped_and_counted),
		TEST(a_wild_head_is_survived),
		TEST(a_barrier_given_up_is_nobodys),
		TEST(stop_wakes_who_waits_and_refuses_more),
		TEST(barriers_are_served_or_given_up_and_never_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
