/* SPDX-License-Identifier: MIT */
/* Checked also: threads. */
/*
 * A program records its own waits: what its threads wait for and how long. Recording must not wake
 * the threads.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprof/flameprof.h"
#include "libprof/flameprof_profile.h"
#include "libprof/sampler/confined.h"

#ifdef __SANITIZE_THREAD__
/* ThreadSanitizer's own thread is recorded too */
#define HAS_TSAN 1
#else
#define HAS_TSAN 0
#endif
#define RATE_HZ	    1000
#define PATIENCE_MS 60000
#define SPAN_MS	    600
#define THREADS	    (2u + HAS_TSAN)

static int to_reader[2];
static long switches; /* of the reader */

static void nap_ms(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void *read_once(void *argument)
{
	struct rusage before, after;
	char byte;

	getrusage(RUSAGE_THREAD, &before);
	assert_int_equal(read(to_reader[0], &byte, 1), 1);
	getrusage(RUSAGE_THREAD, &after);
	switches = after.ru_nvcsw - before.ru_nvcsw;
	return argument;
}

static void start(void)
{
	const struct flameprof_options options = {
		.rate = RATE_HZ, .clock = FLAMEPROF_CLOCK_ELAPSED};

	assert_int_equal(pipe(to_reader), 0);
	assert_int_equal(flameprof_start(&options), 0);
}

static void close_pipe(void)
{
	close(to_reader[0]);
	close(to_reader[1]);
}

static struct flameprof_profile *stop_session(void)
{
	struct flameprof_profile *profile = NULL;

	assert_int_equal(flameprof_stop(&profile, PATIENCE_MS), 0);
	close_pipe();
	return profile;
}

/*
 * Return the weight of those wait stacks whose leaf is @leaf (NULL: any) and that have at least
 * @frames frames.
 */
static uint64_t waits_for(
	const struct flameprof_profile *profile, const char *leaf, uint32_t frames)
{
	struct flameprof_stack stack;
	struct flameprof_frame frame;
	uint64_t weight = 0;

	for (uint32_t i = 0; !flameprof_profile_stack(profile, i, &stack); i++) {
		if (!stack.is_wait || stack.frames < frames)
			continue;
		assert_true(flameprof_profile_frames(profile, i, &frame, 1) >= 1);
		assert_non_null(frame.name);
		weight += !leaf || !strcmp(frame.name, leaf) ? stack.weight : 0;
	}
	return weight;
}

/*
 * Wait until every thread has been seen once, because time before that is not recorded. Add the
 * weights recorded until then to @weight and @wait_weight.
 */
static void meet_threads(uint64_t *weight, uint64_t *wait_weight)
{
	struct flameprof_profile_summary info;
	uint32_t met = 0;

	while (met < THREADS) {
		struct flameprof_profile *before = NULL;
		struct flameprof_thread thread;

		nap_ms(10);
		assert_int_equal(flameprof_flush(&before, PATIENCE_MS), 0);
		for (met = 0; !flameprof_profile_thread(before, met, &thread) && thread.weight;)
			met++;
		flameprof_profile_info(before, &info);
		*weight += info.weight;
		*wait_weight += waits_for(before, NULL, 0);
		flameprof_profile_free(before);
	}
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void each_thread_has_its_whole_time(void **state)
{
	uint64_t begun_ms = now_ms(), weight = 0, wait_weight = 0, span_ms;
	struct flameprof_profile *profile;
	struct flameprof_profile_summary info;
	struct flameprof_counters counts;
	struct flameprof_thread thread;
	pthread_t reader;

	(void)state;
	start();
	assert_int_equal(pthread_create(&reader, NULL, read_once, NULL), 0);
	meet_threads(&weight, &wait_weight);
	nap_ms(SPAN_MS);
	assert_int_equal(flameprof_stop(&profile, PATIENCE_MS), 0);
	span_ms = now_ms() - begun_ms;
	assert_int_equal(write(to_reader[1], "", 1), 1);
	pthread_join(reader, NULL);
	close_pipe();
	flameprof_profile_info(profile, &info);
	/* The library's worker thread must not be recorded. */
	assert_int_equal(info.threads, THREADS);
	for (uint32_t i = 0; i < THREADS; i++) {
		assert_int_equal(flameprof_profile_thread(profile, i, &thread), 0);
		assert_true(strcmp(thread.name, "flameprof"));
		assert_in_range(thread.weight, SPAN_MS - 1, span_ms);
	}
	assert_in_range(waits_for(profile, "[read: pipe]", 4), SPAN_MS - 1, span_ms);
	/*
	 * When a thread is observed, the whole time since its previous observation counts as time
	 * in its present state.
	 */
	assert_in_range(waits_for(profile, "[clock_nanosleep]", 4), SPAN_MS * 3 / 4, span_ms);
	assert_int_equal(flameprof_diagnostics(&counts), 0);
	assert_int_equal(counts.recorded_weight, weight + info.weight);
	assert_int_equal(counts.wait_weight, wait_weight + waits_for(profile, NULL, 0));
	/* The thread that reads the pipe slept once, and nothing woke it in between. */
	assert_in_range(switches, 1, 2);
	flameprof_profile_free(profile);
}

static void a_flush_takes_what_is_known(void **state)
{
	struct flameprof_profile *first = NULL, *second;
	struct flameprof_thread thread;
	pthread_t reader;

	(void)state;
	start();
	assert_int_equal(pthread_create(&reader, NULL, read_once, NULL), 0);
	nap_ms(SPAN_MS);
	assert_int_equal(flameprof_flush(&first, PATIENCE_MS), 0);
	nap_ms(SPAN_MS);
	assert_int_equal(write(to_reader[1], "", 1), 1);
	pthread_join(reader, NULL);
	second = stop_session();
	/* The flush comes in the middle of the waits: time after it is in the second profile. */
	assert_true(waits_for(first, "[read: pipe]", 4) > SPAN_MS / 2);
	assert_true(waits_for(second, "[read: pipe]", 4) > SPAN_MS / 2);
	assert_true(waits_for(first, "[read: pipe]", 4) + waits_for(second, "[read: pipe]", 4) >
		    2 * SPAN_MS * 3 / 4);
	/* The threads have names in both profiles. */
	for (uint32_t i = 0; !flameprof_profile_thread(second, i, &thread); i++)
		assert_true(thread.tid && thread.name[0]);
	flameprof_profile_free(first);
	flameprof_profile_free(second);
}

static void what_is_paused_is_left_out(void **state)
{
	struct flameprof_profile *profile;
	struct flameprof_counters counts;

	(void)state;
	start();
	assert_int_equal(flameprof_pause(), 0);
	nap_ms(SPAN_MS);
	assert_int_equal(flameprof_resume(), 0);
	profile = stop_session();
	assert_int_equal(flameprof_diagnostics(&counts), 0);
	/*
	 * Up to one sampling interval at either end of the pause is recorded, more on a busy
	 * machine.
	 */
	assert_true(waits_for(profile, NULL, 0) < SPAN_MS / 2);
	assert_true(counts.paused_weight > SPAN_MS / 2);
	flameprof_profile_free(profile);
}

/* Without free descriptors nothing about a wait can be read, so it is recorded as "[waiting]". */
static void who_may_not_look_waits_for_nobody_knows_what(void **state)
{
	struct rlimit files, none;
	struct flameprof_profile *profile;
	struct flameprof_counters counts;
	int error;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	start();
	none = (struct rlimit){0, files.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	nap_ms(SPAN_MS);
	error = setrlimit(RLIMIT_NOFILE, &files);
	assert_int_equal(error, 0);
	profile = stop_session();
	assert_int_equal(flameprof_diagnostics(&counts), 0);
	assert_true(waits_for(profile, NULL, 0) > SPAN_MS / 2);
	assert_int_equal(counts.unseen_weight, waits_for(profile, "[waiting]", 0));
	flameprof_profile_free(profile);
}

/* If process_vm_readv(2) is forbidden, the stack is read through /proc/self/mem. */
static void a_stack_that_cannot_be_read_has_its_leaf(void **state)
{
	struct flameprof_profile *profile;

	(void)state;
	__atomic_store_n(&sampler.forbidden, CONFINED_MEMORY, __ATOMIC_RELAXED);
	start();
	nap_ms(SPAN_MS);
	profile = stop_session();
	__atomic_store_n(&sampler.forbidden, 0, __ATOMIC_RELAXED);
	assert_true(waits_for(profile, "[clock_nanosleep]", 4) > SPAN_MS / 2);
	flameprof_profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_thread_has_its_whole_time),
		cmocka_unit_test(a_flush_takes_what_is_known),
		cmocka_unit_test(what_is_paused_is_left_out),
		cmocka_unit_test(who_may_not_look_waits_for_nobody_knows_what),
		cmocka_unit_test(a_stack_that_cannot_be_read_has_its_leaf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
