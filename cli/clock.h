/* SPDX-License-Identifier: MIT */
/*
 * The one clock that flamerun uses for points in time: the library stamps its samples with it, too.
 * It is read by a system call, because another library, such as libfaketime, may interpose
 * clock_gettime() and return other times than the kernel. The wall clock is what such a library is
 * meant to change: it is used for dates, and compared with file times, which the library changes
 * alike.
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

/* Nanoseconds of CLOCK_MONOTONIC. Context: any thread. */
static inline uint64_t clock_now_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

/* Nanoseconds of CPU time of the calling thread. */
static inline uint64_t clock_cpu_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Nanoseconds between the kernel's ticks, at which its coarse clocks advance; 0: not known. */
static inline uint64_t clock_tick_ns(void)
{
	struct timespec tick;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) || tick.tv_sec || tick.tv_nsec <= 0)
		return 0;
	return (uint64_t)tick.tv_nsec;
}

/* What is to be added to get the time since the epoch, as the clock on the wall is set now. */
static inline int64_t clock_epoch_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - (int64_t)clock_now_ns();
}

#endif
