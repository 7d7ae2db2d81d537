/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: called by handlers. */
/*
 * Samples of threads to which a perf event of flamerun sends signals, in addition to their timers.
 * The kernel checks timers at its tick, some 250 times a second; an event has a timer of its own,
 * which interrupts the thread without waiting for the tick.
 */
#ifndef LIBPROF_SAMPLER_EVENTS_H
#define LIBPROF_SAMPLER_EVENTS_H

#include <signal.h>
#include <stdint.h>

#include "libprof/sampler/sampler.h"

/* Returns 1 if @info is a signal of flamerun's perf event. Context: signal-safe. */
static inline int events_sent(const siginfo_t *info)
{
	return sampler.has_events && info->si_code == POLL_IN &&
	       (uint32_t)info->si_fd - WIRE_EVENT_DESCRIPTOR < WIRE_RINGS;
}

/*
 * Returns 1 if the calling thread gets signals of an event, so that its timer stands only for time
 * in the kernel. Context: the handler, @thread active.
 */
int events_come(struct sampler_thread *thread);

/*
 * Return the number of periods that a signal stands for: events_weight() for a signal of the
 * calling thread's event, events_timer_weight() for a signal of its timer after an event has come.
 * Context: the handler, @thread active.
 */
uint32_t events_weight(struct sampler_thread *thread, const void *ucontext);
uint32_t events_timer_weight(struct sampler_thread *thread, const void *ucontext);

/*
 * Make flamerun remove its events from this process. Call this before an action during which no
 * signal may come; threads are then sampled by their timers. Waits for flamerun, at most 100 ms, if
 * the process may have an event. Does nothing in a vfork child, which has none. Context: any
 * thread, not a handler.
 */
void events_end(void);
/* Undo events_end(), because the action has failed. */
void events_undo_end(void);

#endif
