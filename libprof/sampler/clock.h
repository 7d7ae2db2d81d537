/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: clocks are read by raw system calls, CLOCK_MONOTONIC by the vDSO. */
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
 * Returns the time from @then to @now. Returns 0 if the clock went back: a library that fakes the
 * time may set it back, and a clock that cannot be read is 0.
 */
static inline uint64_t clock_since(uint64_t then, uint64_t now)
{
	return now > then ? now - then : 0;
}

/*
 * Atomic: 1 if CLOCK_MONOTONIC must be read by a system call instead of libc's clock_gettime().
 * This is so if another library has replaced clock_gettime(): a sanitizer's version locks and runs
 * deferred signal handlers, which must not happen in a signal handler, and another library may
 * return faked times. It is also so if a thread may not read the time stamp counter, which the vDSO
 * reads.
 */
extern int clock_asks_kernel __attribute__((visibility("hidden")));

/*
 * Find out whether clock_asks_kernel must be set, and set it. Context: signal-safe; before the
 * first sample.
 */
void clock_learn(void);

/*
 * Set clock_asks_kernel because a thread is about to forbid itself the time stamp counter. The
 * setting belongs to a thread and is inherited by threads that it creates; but the library uses
 * system calls in all threads from now on, which costs one system call per sample. Context:
 * signal-safe.
 */
void clock_ask_kernel(void);

/*
 * Returns CLOCK_MONOTONIC in nanoseconds. Uses libc's function, which reads the vDSO without a
 * system call, unless clock_asks_kernel is set.
 */
static inline uint64_t clock_monotonic_ns(void)
{
	struct timespec ts = {0, 0};

	if (__atomic_load_n(&clock_asks_kernel, __ATOMIC_RELAXED))
		arch_syscall2(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	else
		clock_gettime(CLOCK_MONOTONIC, &ts);
	return clock_from_timespec(&ts);
}

/* Returns a CPU clock in nanoseconds; 0 if the clock cannot be read. */
static inline uint64_t clock_cpu_ns(clockid_t clock)
{
	struct timespec ts = {0, 0};

	if (arch_syscall2(SYS_clock_gettime, clock, &ts) < 0)
		return 0;
	return clock_from_timespec(&ts);
}

/*
 * Returns CLOCK_MONOTONIC, read by a system call. Use this in a process or thread that begins or
 * ends: the first use of the vDSO costs page faults, which take longer than a system call.
 */
static inline uint64_t clock_monotonic_by_call_ns(void)
{
	return clock_cpu_ns(CLOCK_MONOTONIC);
}

/*
 * Returns the CPU clock of thread @tid of this process. Source: Linux
 * include/linux/posix-timers_types.h.
 */
static inline clockid_t clock_of_thread(int32_t tid)
{
	return (clockid_t)((~(uint32_t)tid << 3) | 6);
}

/* Returns 1 if @tid is a thread of this process that has not ended. */
static inline int clock_of_thread_runs(uint32_t tid)
{
	return clock_cpu_ns(clock_of_thread((int32_t)tid)) != 0;
}

#endif
