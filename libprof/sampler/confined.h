/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: a look at one word. */
/*
 * Which system calls seccomp filters have left to this process, as far as sampling makes them. A
 * filter is asked before it comes.
 */
#ifndef LIBPROF_SAMPLER_CONFINED_H
#define LIBPROF_SAMPLER_CONFINED_H

#include <stdint.h>

#include "libprof/sampler/sampler.h"

/* What is left out where a filter forbids a call that it takes. Without what is not here nothing
 * goes: a handler's return, the clock of its samples, and who calls. */
enum confined_part {
	CONFINED_NAMES = 1 << 0,   /* of threads */
	CONFINED_WAKING = 1 << 1,  /* the reader, which looks by itself before long */
	CONFINED_MEMORY = 1 << 2,  /* that is no known stack: read by another call, word by word */
	CONFINED_PATHS = 1 << 3,   /* of modules that are named relative to a folder */
	CONFINED_THREADS = 1 << 4, /* that begin */
	CONFINED_TIMERS = 1 << 5,  /* given back: they go with their thread */
	CONFINED_ENDS = 1 << 6,	   /* told: the process leaves as if it were killed */
	CONFINED_ALL = (1 << 7) - 1
};

/* May all of @parts be done? Context: signal-safe. */
static inline int confined_may(uint32_t parts)
{
	return !(__atomic_load_n(&sampler.forbidden, __ATOMIC_RELAXED) & parts);
}

/*
 * The filter at @program (struct sock_fprog, perhaps no such address) is about to come. Sampling
 * goes on without what it forbids, or ends.
 * Returns 1 when it goes on and counts on the filter. Context: any thread, not a handler.
 */
int confined_by(uintptr_t program);

/* The kernel refused that filter. What it would forbid is left out all the same. */
void confined_was_refused(void);

#endif
