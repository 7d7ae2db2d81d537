/* SPDX-License-Identifier: MIT */
/* Checked also: threads. */
/*
 * Sixteen threads call all functions in random order. No call may wait for ever, no weight may be
 * counted twice, and afterwards the profiler must work as before. The environment variable
 * SESSION_STRESS_S sets the seconds to run (3 by default).
 */
#include "session-fixture.h"

#include "libprof/profile/lookup.h"

#define THREADS 16

static uint32_t ending;	      /* atomic */
static uint64_t calls_done;   /* atomic */
static uint64_t weight_taken; /* atomic */
static uint64_t starts_done;  /* atomic */

struct caller {
	pthread_t id;
	uint32_t seed;
	uint32_t calls[10];
};

static uint32_t next_random(struct caller *caller)
{
	caller->seed = caller->seed * 1664525u + 1013904223u;
	return caller->seed >> 8;
}

static void take(struct flameprof_profile *profile)
{
	__atomic_fetch_add(&weight_taken, take_weight(profile), __ATOMIC_RELAXED);
}

static void start_at_random(struct caller *caller)
{
	struct flameprof_options options = {
		.rate = 100 + next_random(caller) % 4000,
		.clock = next_random(caller) % 2 ? FLAMEPROF_CLOCK_CPU : FLAMEPROF_CLOCK_ELAPSED,
		.max_span_ms = next_random(caller) % 8 ? 0 : 1 + next_random(caller) % 50,
		.flags = next_random(caller) % 8 ? 0 : FLAMEPROF_START_PAUSED,
	};
	int error = flameprof_start(&options);

	assert_true(error == 0 || error == -EBUSY);
	__atomic_fetch_add(&starts_done, !error, __ATOMIC_RELAXED);
}

static void stop_at_random(struct caller *caller)
{
	struct flameprof_profile *profile = NULL;
	int error = flameprof_stop(&profile, (int)(next_random(caller) % 20) - 1);

	assert_true(error == 0 || error == -ESRCH || error == -EBUSY || error == -ETIMEDOUT);
	assert_int_equal(profile != NULL, error == 0);
	if (!error)
		take(profile);
}

static void flush_at_random(struct caller *caller)
{
	struct flameprof_profile *profile = NULL;
	int error = flameprof_flush(&profile, (int)(next_random(caller) % 20) - 1);

	assert_true(error == 0 || error == -ESRCH || error == -ECANCELED || error == -ETIMEDOUT);
	assert_int_equal(profile != NULL, error == 0);
	if (!error)
		take(profile);
}

static void *nothing(void *argument)
{
	return argument;
}

static void call(struct caller *caller, uint32_t which)
{
	struct flameprof_counters counts;
	pthread_t id;

	switch (which) {
	case 0:
		start_at_random(caller);
		break;
	case 1:
		if (next_random(caller) % 4 == 0)
			stop_at_random(caller);
		break;
	case 2:
		flush_at_random(caller);
		break;
	case 3:
		flameprof_reset((int)(next_random(caller) % 20) - 1);
		break;
	case 4:
		assert_in_range(flameprof_status(), FLAMEPROF_STOPPED, FLAMEPROF_NO_MEMORY);
		break;
	case 5:
		flameprof_diagnostics(&counts);
		break;
	case 6:
		flameprof_pause();
		flameprof_resume();
		break;
	case 7:
		flameprof_mark("at random");
		break;
	case 8:
		if (!pthread_create(&id, NULL, nothing, NULL))
			pthread_join(id, NULL);
		break;
	default:
		burn_ms(1);
	}
}

static void *call_at_random(void *argument)
{
	struct caller *caller = argument;

	while (!__atomic_load_n(&ending, __ATOMIC_ACQUIRE)) {
		uint32_t which = next_random(caller) % 10;

		call(caller, which);
		caller->calls[which]++;
		__atomic_fetch_add(&calls_done, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/*
 * Check that the number of calls still grows. In a deadlock it stays the same; on a busy machine it
 * grows slowly.
 */
static void watch(unsigned seconds)
{
	uint64_t before = 0;

	for (unsigned second = 0; second < seconds; second++) {
		uint64_t now = before, until_ns = now_ns() + PATIENCE_MS * 1000000ULL;

		while (now == before && now_ns() < until_ns) {
			pause_ms(1000);
			now = __atomic_load_n(&calls_done, __ATOMIC_RELAXED);
		}
		assert_int_not_equal(now, before);
		before = now;
	}
}

static void sixteen_threads_call_everything(void **state)
{
	const char *seconds = getenv("SESSION_STRESS_S");
	struct caller callers[THREADS] = {0};
	size_t bytes;

	(void)state;
	start_often();
	flameprof_stop(NULL, PATIENCE_MS);
	bytes = __atomic_load_n(&pages_mapped_bytes, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < THREADS; i++) {
		callers[i].seed = i + 1;
		pthread_create(&callers[i].id, NULL, call_at_random, &callers[i]);
	}
	watch(seconds ? (unsigned)atoi(seconds) : 3);
	__atomic_store_n(&ending, 1, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(callers[i].id, NULL);
	flameprof_stop(NULL, PATIENCE_MS);
	assert_int_equal(flameprof_status(), FLAMEPROF_STOPPED);
	assert_true(starts_done > 3);
	assert_true(weight_taken > 0);
	/* All memory for profiles, batches and tables must be freed. */
	assert_int_equal(__atomic_load_n(&pages_mapped_bytes, __ATOMIC_SEQ_CST), bytes);
	print_message("%llu calls, %llu sessions, weight %llu\n", (unsigned long long)calls_done,
		(unsigned long long)starts_done, (unsigned long long)weight_taken);
}

/* After the stress test a flush must count exactly. */
static void the_profiler_is_as_good_as_new(void **state)
{
	uint64_t taken = 0, truth;

	(void)state;
	start_often();
	for (int i = 0; i < 10; i++) {
		burn_ms(5);
		taken += flush_weight();
	}
	session_disarm();
	truth = delivered();
	taken += stop_weight();
	assert_int_equal(taken + dropped_meanwhile(), truth);
	assert_true(taken > 50);
}

static uint32_t asked; /* atomic */

/* In a loop: call functions that take no lock, while no profiler runs. */
static void *ask(void *argument)
{
	while (!__atomic_load_n(&ending, __ATOMIC_RELAXED)) {
		flameprof_status();
		flameprof_active();
		flameprof_flush(NULL, 0);
		flameprof_mark("asked");
		__atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED);
	}
	return argument;
}

/*
 * Other threads call functions during the first start, so that ThreadSanitizer sees data that is
 * published too early.
 */
static void the_first_start_beside_others(void **state)
{
	pthread_t asking;

	(void)state;
	assert_int_equal(pthread_create(&asking, NULL, ask, NULL), 0);
	while (!__atomic_load_n(&asked, __ATOMIC_RELAXED))
		;
	assert_int_equal(flameprof_start(NULL), 0);
	assert_int_equal(flameprof_stop(NULL, -1), 0);
	__atomic_store_n(&ending, 1, __ATOMIC_RELAXED);
	pthread_join(asking, NULL);
	__atomic_store_n(&ending, 0, __ATOMIC_RELAXED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_first_start_beside_others, no_session_left),
		cmocka_unit_test_teardown(sixteen_threads_call_everything, no_session_left),
		cmocka_unit_test_teardown(the_profiler_is_as_good_as_new, no_session_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
