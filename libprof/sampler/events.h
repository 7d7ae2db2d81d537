/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: handlers ask it what a signal weighs. */
/*
 * Threads that a perf event of flamerun's signals beside their timers. The kernel looks at timers
 * at its tick, some 250 times a second; an event interrupts the thread by a timer of its own.
 */
#ifndef LIBPROF_SAMPLER_EVENTS_H
#define LIBPROF_SAMPLER_EVENTS_H

#include <signal.h>
#include <stdint.h>

#include "libprof/sampler/sampler.h"

/* Is @info a signal of one of those events? Context: signal-safe. */
static inline int events_sent(const siginfo_t *info)
{
	return sampler.has_events && info->si_code == POLL_IN &&
	       (uint32_t)info->si_fd - WIRE_EVENT_DESCRIPTOR < WIRE_RINGS;
}

/* Do they come to the calling thread, so that its timer counts less? Context: as below. */
int events_come(struct sampler_thread *thread);

/*
 * How many periods a signal of the calling thread's event stands for, and one of its timer once an
 * event came. Context: the handler, @thread active.
 */
uint32_t events_weight(struct sampler_thread *thread, const void *ucontext);
uint32_t events_timer_weight(struct sampler_thread *thread, const void *ucontext);

/*
 * Have flamerun take its events away from this process, before something during which no signal may
 * come; its threads go on by their timers. Waits for that, at most 100 ms, in a process that may
 * have one. Not for a vfork child, which has none. Context: any thread, not a handler.
 */
void events_end(void);
/* It came to nothing: they may come back. */
void events_undo_end(void);

#endif
