/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/* A flush waits at a barrier. Barriers complete in order, time out, or are cancelled by a stop. */
#include "tests/unit/aggregate-fixture.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "libprof/aggregator/queue.h"
#include "libprof/sampler/clock.h"

struct fixture {
	void *arena;
	struct queue queue;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->arena = aggregate_arena();
	assert_int_equal(queue_init(&f->queue, f->arena, WIRE_BLOCKS_MIN, AGGREGATE_IMAGE), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	queue_release(&f->queue);
	free(f->arena);
	free(f);
	return 0;
}

static void barriers_come_first_in_first_out(void **state)
{
	struct fixture *f = *state;
	const uint32_t *doorbell = &((struct wire_arena *)f->arena)->doorbell;
	struct barrier barriers[3] = {{0}};

	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(queue_add_barrier(&f->queue, &barriers[i]), 0);
		assert_int_equal(*doorbell, i + 1);
	}
	assert_int_equal(queue_boundary(&f->queue), barriers[0].boundary_ns);
	assert_null(queue_pop(&f->queue, barriers[0].boundary_ns - 1));
	for (unsigned i = 0; i < 3; i++) {
		assert_ptr_equal(queue_pop(&f->queue, UINT64_MAX), &barriers[i]);
		assert_int_equal(barriers[i].state, BARRIER_TAKEN);
		assert_true(!i || barriers[i].boundary_ns >= barriers[i - 1].boundary_ns);
		queue_complete(&barriers[i], i ? -5 - (int)i : 0, (struct flameprof_profile *)f);
		assert_int_equal(queue_wait(&barriers[i], 1000), i ? -5 - (int)i : 0);
		assert_ptr_equal(barriers[i].result, f);
	}
	assert_null(queue_pop(&f->queue, UINT64_MAX));
	assert_int_equal(queue_boundary(&f->queue), UINT64_MAX);
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
	assert_ptr_equal(queue_pop(&f->queue, UINT64_MAX), &barriers[0]);
	assert_int_equal(queue_wait(&barriers[2], 0), -ETIMEDOUT);
	memset(&barriers[2], 0xff, sizeof(barriers[2]));
	assert_null(queue_pop(&f->queue, UINT64_MAX));
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
	assert_ptr_equal(queue_pop(&f->queue, UINT64_MAX), &taken);
	for (unsigned i = 0; i < 4; i++) {
		queue_add_barrier(&f->queue, &barriers[i]);
		pthread_create(&threads[i], NULL, wait_without_limit, &barriers[i]);
	}
	usleep(1000);
	queue_stop(&f->queue);
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(threads[i], &result);
		assert_int_equal((intptr_t)result, -ECANCELED);
	}
	assert_int_equal(queue_add_barrier(&f->queue, &late), -ECANCELED);
	/* A barrier that the worker has already taken is still completed. */
	queue_complete(&taken, 0, NULL);
	assert_int_equal(queue_wait(&taken, 0), 0);
	assert_null(queue_pop(&f->queue, UINT64_MAX));
}

/* ---- races: run under TSan, too -------------------------------------------------------- */

struct race {
	struct fixture *f;
	uint32_t stop;
	uint64_t answered, timed_out, cancelled, served;
};

static void *race_worker(void *argument)
{
	struct race *race = argument;

	for (;;) {
		int last = __atomic_load_n(&race->stop, __ATOMIC_ACQUIRE);
		struct barrier *barrier = queue_pop(&race->f->queue, UINT64_MAX);

		if (!barrier && last)
			return NULL;
		if (!barrier) {
			sched_yield();
		} else {
			race->answered++;
			queue_complete(barrier, 0, (struct flameprof_profile *)race);
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
		__atomic_fetch_add(error == 0		 ? &race->served
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

	pthread_create(&worker, NULL, race_worker, &race);
	for (unsigned i = 0; i < 4; i++)
		pthread_create(&flushers[i], NULL, race_flush, &race);
	while (__atomic_load_n(&race.served, __ATOMIC_RELAXED) +
			__atomic_load_n(&race.timed_out, __ATOMIC_RELAXED) <
		10000)
		usleep(100);
	queue_stop(&f->queue);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(flushers[i], NULL);
	__atomic_store_n(&race.stop, 1, __ATOMIC_RELEASE);
	pthread_join(worker, NULL);
	assert_int_equal(race.answered, race.served);
	assert_int_equal(race.served + race.timed_out + race.cancelled, 12000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(barriers_come_first_in_first_out),
		TEST(a_barrier_given_up_is_nobodys),
		TEST(stop_wakes_who_waits_and_refuses_more),
		TEST(barriers_are_served_or_given_up_and_never_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
