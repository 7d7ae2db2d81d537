/* SPDX-License-Identifier: MIT */
/*
 * The timer thread. It exists while threads get ticks, and for a second afterwards in case ticks
 * start again.
 */
#ifndef LIBPROF_INTERRUPT_TIMER_H
#define LIBPROF_INTERRUPT_TIMER_H

#include <stdint.h>

#include "libprof/interrupt/interrupt.h"

/* ---- registered threads ---------------------------------------------------------------------- */
/* The list of threads that get ticks. Context, unless stated otherwise: interrupt.lock is held. */

/*
 * Allocate an entry for the calling thread, without adding it to the list. Returns NULL without
 * memory. Context: the lock is not held.
 */
struct interrupt_thread *registry_thread_new(void);

/* Free an entry that is not on the list. Context: the thread itself; the lock is not held. */
void registry_thread_free(struct interrupt_thread *thread);

void registry_add(struct interrupt_thread *thread);
void registry_remove(struct interrupt_thread *thread);

/*
 * Start @thread's ticks. They are due at whole periods after @begin_ns; the first one is after
 * @now_ns.
 */
void registry_begin(
	struct interrupt_thread *thread, uint64_t begin_ns, uint64_t period_ns, uint64_t now_ns);

/* Skip @thread's periods that have ended by @now_ns, without ticks. Context: @thread gets ticks. */
void registry_skip(struct interrupt_thread *thread, uint64_t now_ns);

/*
 * Start or end the ticks of all threads without a function of their own. Call registry_begin_all()
 * after interrupt.period_ns was set, registry_end_all() before it is cleared.
 */
void registry_begin_all(uint64_t now_ns);
void registry_end_all(void);

/* Returns the time of the first tick that is due; UINT64_MAX: no thread gets ticks. */
uint64_t registry_due_ns(void);

/* Raise @thread's counter by @ticks, then set its flag. Context: the thread is alive. */
void registry_raise(struct interrupt_thread *thread, uint32_t ticks);

/* In a fork child: remove all threads but @thread, the calling one. NULL: remove all. */
void registry_reset_in_child(struct interrupt_thread *thread);

/* ---- the timer ------------------------------------------------------------------------------- */

/*
 * Make sure that the timer runs and wakes by @due_ns. UINT64_MAX: no timer is needed.
 * Returns 0 or -errno. Context: interrupt.lock is held.
 */
int timer_start(uint64_t due_ns);

/*
 * End the timer and wait for its end, if no thread gets ticks. Call this when a thread ends: a
 * process ends with its last thread, and the timer must not be that thread. Context: interrupt.lock
 * is not held.
 */
void timer_end_unneeded(void);

/* In a fork child: forget the parent's timer. Context: interrupt.lock is held. */
void timer_reset_in_child(void);

#endif
