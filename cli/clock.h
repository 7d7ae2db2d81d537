/* SPDX-License-Identifier: MIT */
/*
 * Read clocks. Points in time are nanoseconds of CLOCK_MONOTONIC, as in the library's samples.
 * Clocks are read by system calls, because a preloaded library such as libfaketime may replace
 * clock_gettime() and return other times than the kernel. The wall clock alone is read through
 * libc. It is used for dates and compared with file times, and libfaketime changes both of them in
 * the same way.
 */
#ifndef CLI_CLOCK_H
#define CLI_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "arch/syscall.h"

static inline uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec now = {0, 0};

	arch_syscall2(SYS_clock_gettime, clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Returns the time of CLOCK_MONOTONIC in nanoseconds. Context: any thread. */
static inline uint64_t clock_now_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

/* Returns the CPU time of the calling thread in nanoseconds. */
static inline uint64_t clock_cpu_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

/*
 * Returns the nanoseconds between two ticks of the kernel, or 0 if unknown. The kernel's coarse
 * clocks advance at each tick.
 */
static inline uint64_t clock_tick_ns(void)
{
	struct timespec tick;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) || tick.tv_sec || tick.tv_nsec <= 0)
		return 0;
	return (uint64_t)tick.tv_nsec;
}

/* Returns the nanoseconds to add to clock_now_ns() to get the wall clock's time since the epoch. */
static inline int64_t clock_epoch_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - (int64_t)clock_now_ns();
}

#endif
