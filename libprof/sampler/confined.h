/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reads one word. */
/*
 * Which of the system calls that sampling makes are forbidden to this process by seccomp filters.
 * Before a filter is installed through libc, filter.c finds out what the filter forbids. A filter
 * that was installed without libc ends sampling as soon as it is detected.
 */
#ifndef LIBPROF_SAMPLER_CONFINED_H
#define LIBPROF_SAMPLER_CONFINED_H

#include <stdint.h>

#include "libprof/sampler/sampler.h"

/*
 * Parts of sampling that can be left out if a filter forbids their system calls. Calls that are not
 * listed here are indispensable: the handler's return, the clock of samples, and getpid() and
 * gettid().
 */
enum confined_part {
	CONFINED_NAMES = 1 << 0, /* reading thread names */
	/* Waking the reader of the rings, which reads them every 50 ms anyway. */
	CONFINED_WAKING = 1 << 1,
	/*
	 * Reading memory that is on no known stack by process_vm_readv(2). Without it such memory
	 * is read word by word, by another system call.
	 */
	CONFINED_MEMORY = 1 << 2,
	/* Reading the path of the program and of modules with a relative name. */
	CONFINED_PATHS = 1 << 3,
	CONFINED_THREADS = 1 << 4, /* timers for new threads */
	/* Deleting timers. Without it they end with their thread. */
	CONFINED_TIMERS = 1 << 5,
	/*
	 * Recording totals at the process's end. Without it the end looks like that of a killed
	 * process.
	 */
	CONFINED_ENDS = 1 << 6,
	CONFINED_FILTERS = 1 << 7, /* checking for unseen filters */
	/* Making interrupted system calls fail with EINTR, see interrupted.c. */
	CONFINED_RESTARTS = 1 << 8,
	CONFINED_ALL = (1 << 9) - 1
};

/* Returns 1 if no filter forbids any of @parts. Context: signal-safe. */
static inline int confined_may(uint32_t parts)
{
	return !(__atomic_load_n(&sampler.forbidden, __ATOMIC_RELAXED) & parts);
}

/*
 * Returns 1 if flamerun has reported a filter whose installation the library did not see. Returns 0
 * in a program that profiles itself, because flamerun does not watch it. Context: signal-safe;
 * sampling has begun.
 */
static inline int confined_is_unseen(void)
{
	return !sampler_is_hosted() && __atomic_load_n(&sampler.slot->has_unseen, __ATOMIC_RELAXED);
}

/*
 * Returns 1 if an unseen filter was reported or sampling has ended. The caller must then make no
 * more system calls, and the handler ends sampling. A fork child reads its parent's slot until it
 * has its own. Context: signal-safe.
 */
static inline int confined_is_reported(void)
{
	return __atomic_load_n(&sampler.quit, __ATOMIC_RELAXED) ||
	       (__atomic_load_n(&sampler.on, __ATOMIC_ACQUIRE) && confined_is_unseen());
}

/*
 * Returns 1 if the calling thread may have a filter whose installation the library did not see. The
 * caller must then make no system calls. The handler ends sampling, because only the handler knows
 * for certain which process it is in. Unless flamerun has reported such a filter, this function
 * itself makes a system call, which the filter may forbid. An unseen filter beside known ones is
 * not detected. Context: signal-safe, also a vfork child.
 */
int confined_by_unseen(void);

/*
 * Variant of confined_by_unseen() for use before an exec. It also detects an unseen filter beside
 * known ones, by reading a file in /proc. It reads the file only in a process that had a sample or
 * called confined_expect(), because most fork children exec at once and reading takes microseconds.
 * Context: signal-safe, also a vfork child.
 */
int confined_before_exec(void);

/*
 * Note that the process has set PR_SET_NO_NEW_PRIVS, which programs do before they install a
 * filter. Context: signal-safe.
 */
void confined_expect(void);

/*
 * Returns 1 if a filter was installed in a vfork child, or in a child that libc did not make. Such
 * a child shares, or has a copy of, this process's memory. Context: signal-safe, also a vfork
 * child.
 */
int confined_in_child(void);

/* Note that a vfork child, or a child that libc did not make, has installed a filter. */
void confined_set_outside_libc(void);

/*
 * Returns the number of filters of the calling thread; before Linux 5.9 only 0 or 1; -errno if it
 * cannot be read. Context: signal-safe.
 */
int confined_count(void);

#endif
