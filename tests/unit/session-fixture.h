/* SPDX-License-Identifier: MIT */
/* For tests of a process that samples itself: threads that use CPU time, and flushed profiles. */
#ifndef TESTS_UNIT_SESSION_FIXTURE_H
#define TESTS_UNIT_SESSION_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libprof/flameprof.h"
#include "libprof/flameprof_profile.h"
#include "libprof/sampler/sampler.h"
#include "libprof/sanitizers.h"
#include "libprof/session/session.h"

/*
 * Skip a test that ThreadSanitizer breaks: it delays signals until the thread makes an intercepted
 * call, hides the sender of a signal, and knows only threads of pthread_create().
 */
static inline void skip_under_tsan(void)
{
	if (UNDER_TSAN)
		skip();
}

/*
 * Returns whether qemu-user runs this program. qemu-user lists a thread of its own among the
 * process's threads, and can only run threads that are made as pthread_create() makes them.
 */
static inline int is_emulated(void)
{
	return getenv("TEST_EMULATED") != NULL;
}

/* ms; long enough for a machine with much other work */
#define PATIENCE_MS 30000

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline uint64_t own_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/*
 * Use @ms of CPU time. Waiting for elapsed time is not enough: on a busy machine it yields few
 * samples.
 */
static inline void burn_ms(unsigned ms)
{
	uint64_t until_ns = own_cpu_ns() + ms * 1000000ULL;

	while (own_cpu_ns() < until_ns)
		;
}

static inline void pause_ms(unsigned ms)
{
	struct timespec rest = {ms / 1000, ms % 1000 * 1000000L};

	while (nanosleep(&rest, &rest) && errno == EINTR)
		;
}

/* A thread that uses CPU time until `stop` is set. */
struct burner {
	pthread_t id;
	uint32_t tid;  /* atomic: 0 until it runs */
	uint32_t stop; /* atomic */
};

static inline void *burner_main(void *argument)
{
	struct burner *burner = argument;

	__atomic_store_n(&burner->tid, (uint32_t)gettid(), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&burner->stop, __ATOMIC_ACQUIRE))
		;
	return NULL;
}

static inline void burner_begin(struct burner *burner)
{
	memset(burner, 0, sizeof(*burner));
	assert_int_equal(pthread_create(&burner->id, NULL, burner_main, burner), 0);
	while (!__atomic_load_n(&burner->tid, __ATOMIC_ACQUIRE))
		pause_ms(1);
}

static inline void burner_end(struct burner *burner)
{
	__atomic_store_n(&burner->stop, 1, __ATOMIC_RELEASE);
	pthread_join(burner->id, NULL);
}

/*
 * Sample 5000 times per second of elapsed time, so that a second yields thousands of samples even
 * if the kernel's timer tick is long.
 */
static const struct flameprof_options often = {.rate = 5000};

static __attribute__((constructor)) void sample_elapsed_time(void)
{
	sampler.is_elapsed = 1;
}

static inline void start_often(void)
{
	assert_int_equal(flameprof_start(&often), 0);
}

static inline struct flameprof_profile_summary info_of(const struct flameprof_profile *profile)
{
	struct flameprof_profile_summary info;

	flameprof_profile_info(profile, &info);
	return info;
}

/* Free the profile. Returns its weight. */
static inline uint64_t take_weight(struct flameprof_profile *profile)
{
	uint64_t weight = info_of(profile).weight;

	flameprof_profile_free(profile);
	return weight;
}

/*
 * Keep the worker thread from completing flushes until session.counts_lock is unlocked: it needs
 * this lock after each pass over the rings, also after one that has already begun.
 */
static inline void hold_worker_up(void)
{
	pthread_mutex_lock(&session.counts_lock);
}

static inline uint64_t flush_weight(void)
{
	struct flameprof_profile *profile = NULL;

	assert_int_equal(flameprof_flush(&profile, PATIENCE_MS), 0);
	return take_weight(profile);
}

static inline uint64_t stop_weight(void)
{
	struct flameprof_profile *profile = NULL;

	assert_int_equal(flameprof_stop(&profile, PATIENCE_MS), 0);
	return take_weight(profile);
}

static inline struct flameprof_counters diagnostics(void)
{
	struct flameprof_counters out;

	assert_int_equal(flameprof_diagnostics(&out), 0);
	return out;
}

static inline uint64_t dropped_weight(const struct flameprof_counters *diagnostics)
{
	uint64_t weight = 0;

	for (unsigned i = 0; i < FLAMEPROF_DROPS; i++)
		weight += diagnostics->dropped[i].weight;
	return weight;
}

/*
 * Returns the weight that was dropped since the last call. Rings may fill up if the worker thread
 * is late.
 */
static inline uint64_t dropped_meanwhile(void)
{
	struct flameprof_counters counts = diagnostics();

	return dropped_weight(&counts);
}

/* Returns the number of timer expiries in this session for which the signal's handler ran. */
static inline uint64_t delivered(void)
{
	return __atomic_load_n(&sampler.slot->delivered, __ATOMIC_ACQUIRE);
}

/* Returns the weight of thread @tid in @profile. */
static inline uint64_t thread_weight(const struct flameprof_profile *profile, uint32_t tid)
{
	struct flameprof_thread thread;
	uint64_t weight = 0;

	for (uint32_t i = 0; !flameprof_profile_thread(profile, i, &thread); i++)
		if (thread.tid == tid)
			weight += thread.weight;
	return weight;
}

/* Wait until the status is @status. */
static inline void await_status(enum flameprof_status status)
{
	uint64_t until_ns = now_ns() + PATIENCE_MS * 1000000ULL;

	while (flameprof_status() != status && now_ns() < until_ns)
		pause_ms(1);
	assert_int_equal(flameprof_status(), status);
}

/* Fail if a test left its profiling session running. */
static inline int no_session_left(void **state)
{
	(void)state;
	return flameprof_stop(NULL, PATIENCE_MS) == -ESRCH ? 0 : -1;
}

#endif
