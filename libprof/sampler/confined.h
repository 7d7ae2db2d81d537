/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: a look at one word. */
/*
 * Which system calls seccomp filters have left to this process, as far as sampling makes them. A
 * filter that is seen before it comes is asked; one that nobody saw ends sampling at the next look.
 */
#ifndef LIBPROF_SAMPLER_CONFINED_H
#define LIBPROF_SAMPLER_CONFINED_H

#include <stdint.h>

#include "libprof/sampler/sampler.h"

/* What is left out where a filter forbids a call that it takes. Without what is not here nothing
 * goes: a handler's return, the clock of its samples, and who calls. */
enum confined_part {
	CONFINED_NAMES = 1 << 0,   /* of threads */
	/* the reader, which looks by itself before long */
	CONFINED_WAKING = 1 << 1,
	/* that is no known stack: read by another call, word by word */
	CONFINED_MEMORY = 1 << 2,
	/* of modules that are named relative to a folder */
	CONFINED_PATHS = 1 << 3,
	CONFINED_THREADS = 1 << 4, /* that begin */
	/* given back: they go with their thread */
	CONFINED_TIMERS = 1 << 5,
	/* told: the process leaves as if it were killed */
	CONFINED_ENDS = 1 << 6,
	CONFINED_LOOKS = 1 << 7,   /* of ours for filters that nobody saw */
	/* checks for calls that must fail: interrupted.c */
	CONFINED_RESTARTS = 1 << 8,
	CONFINED_ALL = (1 << 9) - 1
};

/* May all of @parts be done? Context: signal-safe. */
static inline int confined_may(uint32_t parts)
{
	return !(__atomic_load_n(&sampler.forbidden, __ATOMIC_RELAXED) & parts);
}

/*
 * Has flamerun told of a filter that nobody saw? A session of the program's own begins by its call:
 * it knows what it forbade itself. Context: signal-safe, sampling has begun.
 */
static inline int confined_is_unseen(void)
{
	return !sampler_is_hosted() && __atomic_load_n(&sampler.slot->has_unseen, __ATOMIC_RELAXED);
}

/*
 * The same, or has sampling ended? Then no call is to be made any more; the handler ends sampling.
 * A fork child has its parent's slot until it has one. Context: signal-safe.
 */
static inline int confined_is_reported(void)
{
	return __atomic_load_n(&sampler.quit, __ATOMIC_RELAXED) ||
	       (__atomic_load_n(&sampler.on, __ATOMIC_ACQUIRE) && confined_is_unseen());
}

/*
 * Has the calling thread a filter that nobody saw? Unless flamerun has told of it this takes a
 * call, which it may forbid; where others are known it does not tell. Then nothing that takes calls
 * is to be done; the handler, which is sure to be this process's, ends sampling.
 * Context: signal-safe, also a vfork child.
 */
int confined_by_unseen(void);

/*
 * The same by way of a file, as what is exec'd opens files, too. Only in one that had a sample, or
 * where filters are to be expected: most forks exec at once, and this takes microseconds.
 * Context: as above.
 */
int confined_before_exec(void);

/* It gives up privileges that no filter may come before. Context: signal-safe. */
void confined_expect(void);

/*
 * Has a child that libc did not make, or a vfork child, installed one that was seen? Its memory is,
 * or is like, this process's. Context: as above.
 */
int confined_in_child(void);

/* It has. */
void confined_set_outside_libc(void);

/*
 * How many filters the calling thread has; where the kernel does not count them, whether it has.
 * -errno when nobody can tell. Context: signal-safe.
 */
int confined_count(void);

#endif
