/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/*
 * Batches and barriers (positions for which a flush waits): no record crosses a barrier, and
 * barriers complete in order or time out.
 */
#include "tests/unit/queue-fixture.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "libprof/sampler/clock.h"

/*
 * Records that are in rings when a barrier is added belong before the barrier, later records behind
 * it.
 */
static void a_barrier_drains_partial_batches_first(void **state)
{
	struct fixture *f = *state;
	struct barrier barrier = {0};
	struct queue_item *item;

	push(0, 1, 3);
	push(3, 1, 3);
	assert_int_equal(queue_add_barrier(&f->queue, &barrier), 0);
	push(0, clock_monotonic_ns(), 3);
	queue_drain(&f->queue, NEVER);
	item = take_batch(f);
	assert_int_equal(item->batch->ring, 0);
	queue_free_batch(&f->queue, item);
	item = take_batch(f);
	assert_int_equal(item->batch->ring, 3);
	queue_free_batch(&f->queue, item);
	item = queue_pop(&f->queue);
	assert_int_equal(item->kind, QUEUE_BARRIER);
	assert_ptr_equal(item->barrier, &barrier);
	assert_int_equal(barrier.state, BARRIER_TAKEN);
	queue_complete(item, 0, (struct flameprof_profile *)f);
	assert_int_equal(queue_wait(&barrier, -1), 0);
	assert_ptr_equal(barrier.result, f);
	item = take_batch(f);
	assert_true(((const struct wire_sample *)item->batch->records)->time_ns >
		barrier.boundary_ns);
	queue_free_batch(&f->queue, item);
}

static void a_record_later_than_the_boundary_stays(void **state)
{
	struct fixture *f = *state;
	struct barrier barrier = {0};

	/*
	 * The record's time is later than the barrier: its handler read the clock after the flush
	 * began.
	 */
	push(0, clock_monotonic_ns() + 1000000000000, 3);
	assert_int_equal(queue_add_barrier(&f->queue, &barrier), 0);
	assert_int_equal(ring_waiting(f->arena, 0), 48);
	assert_int_equal(queue_wait(&barrier, 0), -ETIMEDOUT);
}

static void items_come_first_in_first_out(void **state)
{
	struct fixture *f = *state;
	struct barrier barriers[3] = {{0}};
	struct queue_item *item;

	for (unsigned i = 0; i < 3; i++) {
		push(0, i, 3);
		queue_drain(&f->queue, NEVER);
		queue_add_barrier(&f->queue, &barriers[i]);
	}
	for (unsigned i = 0; i < 3; i++) {
		item = take_batch(f);
		assert_int_equal(count_batch(item->batch, i), 1);
		queue_free_batch(&f->queue, item);
		item = queue_pop(&f->queue);
		assert_ptr_equal(item->barrier, &barriers[i]);
		assert_true(!i || barriers[i].boundary_ns >= barriers[i - 1].boundary_ns);
		queue_complete(item, -5 - (int)i, NULL);
		assert_int_equal(queue_wait(&barriers[i], 1000), -5 - (int)i);
	}
	assert_null(queue_pop(&f->queue));
}

static void a_ceiling_of_one_byte_drops_everything(void **state)
{
	struct fixture *f = *state;
	struct queue_counters counters;
	struct barrier barrier = {0};
	struct queue_item *item;
	unsigned samples, bytes;

	limit(f, 1);
	fill_ring(0, &samples, &bytes);
	/* The flush succeeds although its batch was dropped. The counters report the loss. */
	assert_int_equal(queue_add_barrier(&f->queue, &barrier), 0);
	assert_int_equal(ring_waiting(f->arena, 0), 0);
	item = queue_pop(&f->queue);
	assert_int_equal(item->kind, QUEUE_BARRIER);
	queue_complete(item, 0, NULL);
	assert_int_equal(queue_wait(&barrier, 0), 0);
	queue_counters_reset(&f->queue, &counters);
	assert_int_equal(counters.dropped_samples, samples);
	assert_int_equal(counters.dropped_weight, 3 * samples);
	assert_int_equal(counters.dropped_bytes, bytes);
	assert_true(counters.high_water_bytes > 1);
}

static void a_barrier_given_up_is_nobodys(void **state)
{
	struct fixture *f = *state;
	struct barrier barriers[3] = {{0}};
	uint64_t before_ns;

	for (unsigned i = 0; i < 3; i++)
		queue_add_barrier(&f->queue, &barriers[i]);
	before_ns = clock_monotonic_ns();
	assert_int_equal(queue_wait(&barriers[1], 20), -ETIMEDOUT);
	assert_true(clock_monotonic_ns() - before_ns >= 20000000);
	memset(&barriers[1], 0xff, sizeof(barriers[1]));
	assert_ptr_equal(queue_pop(&f->queue)->barrier, &barriers[0]);
	assert_int_equal(queue_wait(&barriers[2], 0), -ETIMEDOUT);
	memset(&barriers[2], 0xff, sizeof(barriers[2]));
	assert_null(queue_pop(&f->queue));
	push(0, 1, 3);
	queue_drain(&f->queue, NEVER);
	queue_free_batch(&f->queue, take_batch(f));
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

	queue_add_barrier(&f->queue, &taken);
	struct queue_item *item = queue_pop(&f->queue);
	for (unsigned i = 0; i < 4; i++) {
		queue_add_barrier(&f->queue, &barriers[i]);
		pthread_create(&threads[i], NULL, wait_without_limit, &barriers[i]);
	}
	push(0, 1, 3);
	queue_drain(&f->queue, NEVER);
	usleep(1000);
	queue_stop(&f->queue);
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(threads[i], &result);
		assert_int_equal((intptr_t)result, -ECANCELED);
	}
	assert_int_equal(queue_add_barrier(&f->queue, &late), -ECANCELED);
	/*
	 * A barrier that the worker has already taken is still completed, and queued batches are
	 * not lost.
	 */
	queue_complete(item, 0, NULL);
	assert_int_equal(queue_wait(&taken, 0), 0);
	queue_free_batch(&f->queue, take_batch(f));
	assert_null(queue_pop(&f->queue));
}

/* ---- races: run under TSan, too -------------------------------------------------------- */

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
		struct queue_item *item = queue_pop(&race->f->queue);

		if (!item && last)
			return NULL;
		if (!item) {
			sched_yield();
		} else if (item->kind == QUEUE_BATCH) {
			for (uint32_t at = 0; at < item->batch->bytes; race->taken++)
				at += ((struct wire_sample *)(item->batch->records + at))->bytes;
			queue_free_batch(&race->f->queue, item);
		} else {
			race->answered++;
			queue_complete(item, 0, (struct flameprof_profile *)race);
		}
	}
}

static void *race_flush(void *argument)
{
	struct race *race = argument;
	uint64_t random = (uintptr_t)&random;

	for (unsigned i = 0; i < 3000; i++) {
		struct barrier barrier = {0};
		int error = queue_add_barrier(&race->f->queue, &barrier);

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
		pushed += !ring_push_at(0, 1, 1, FRAMES(1, 2, 3));
		if (i % 100 == 0)
			queue_drain(&f->queue, NEVER);
		if (i == 19000)
			queue_stop(&f->queue);
	}
	for (unsigned i = 0; i < 4; i++)
		pthread_join(flushers[i], NULL);
	queue_drain(&f->queue, NEVER);
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
		TEST(a_barrier_drains_partial_batches_first),
		TEST(a_record_later_than_the_boundary_stays),
		TEST(items_come_first_in_first_out),
		TEST(a_ceiling_of_one_byte_drops_everything),
		TEST(a_barrier_given_up_is_nobodys),
		TEST(stop_wakes_who_waits_and_refuses_more),
		TEST(barriers_are_served_or_given_up_and_never_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
