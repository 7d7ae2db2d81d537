/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: clocks by raw system calls, but for the vDSO's monotonic clock. */
#ifndef LIBPROF_SAMPLER_CLOCK_H
#define LIBPROF_SAMPLER_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "arch/syscall.h"

#define CLOCK_NS_PER_S 1000000000ULL

static inline uint64_t clock_from_timespec(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * CLOCK_NS_PER_S + (uint64_t)ts->tv_nsec;
}

/*
 * Time from @then to @now, 0 if the clock went back: a library that fakes the time may set it back,
 * and a clock that cannot be read is 0.
 */
static inline uint64_t clock_since(uint64_t then, uint64_t now)
{
	return now > then ? now - then : 0;
}

/*
 * Somebody stands between us and libc, whose clock_gettime() may do more than a handler can bear: a
 * sanitizer's keeps books about its thread and runs signals that it kept. Another may tell of other
 * times. Or a thread may not read the time stamp counter, which the vDSO does.
 */
extern int clock_asks_kernel __attribute__((visibility("hidden"))); /* atomic */

/* Find out whether that is so. Context: signal-safe; before the first sample. */
void clock_learn(void);

/*
 * A thread is about to be kept from the counter. That is each thread's own, and that of those it
 * makes; asking the kernel in all of them, and for good, costs a system call for each sample.
 * Context: signal-safe.
 */
void clock_ask_kernel(void);

/* CLOCK_MONOTONIC in nanoseconds; libc's call, which the vDSO answers without a system call. */
static inline uint64_t clock_monotonic_ns(void)
{
	struct timespec ts = {0, 0};

	if (__atomic_load_n(&clock_asks_kernel, __ATOMIC_RELAXED))
		arch_syscall2(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	else
		clock_gettime(CLOCK_MONOTONIC, &ts);
	return clock_from_timespec(&ts);
}

/* A CPU clock in nanoseconds, 0 when it can't be read. */
static inline uint64_t clock_cpu_ns(clockid_t clock)
{
	struct timespec ts = {0, 0};

	if (arch_syscall2(SYS_clock_gettime, clock, &ts) < 0)
		return 0;
	return clock_from_timespec(&ts);
}

/*
 * CLOCK_MONOTONIC by a system call. To a process or thread that begins or ends, the page faults of
 * the vDSO and of libc's way there are dearer.
 */
static inline uint64_t clock_monotonic_by_call_ns(void)
{
	return clock_cpu_ns(CLOCK_MONOTONIC);
}

/* The CPU clock of another thread of this process. Source: Linux
 * include/linux/posix-timers_types.h. */
static inline clockid_t clock_of_thread(int32_t tid)
{
	return (clockid_t)((~(uint32_t)tid << 3) | 6);
}

/* Is @tid a thread of this process that has not ended? */
static inline int clock_of_thread_runs(uint32_t tid)
{
	return clock_cpu_ns(clock_of_thread((int32_t)tid)) != 0;
}

#endif
