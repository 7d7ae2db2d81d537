/* SPDX-License-Identifier: MIT */
/*
 * The timer: a thread that is there while threads are registered that get ticks, and a little
 * longer, resting, for those that come back.
 */
#ifndef LIBPROF_INTERRUPT_TIMER_H
#define LIBPROF_INTERRUPT_TIMER_H

#include <stdint.h>

#include "libprof/interrupt/interrupt.h"

/* ---- registered threads ---------------------------------------------------------------------- */
/*
 * The list of threads that get ticks. Context, unless stated otherwise: interrupt.lock is held.
 */

/*
 * Memory for the calling thread, not on the list. Returns NULL without memory.
 * Context: the lock is not held.
 */
struct interrupt_thread *registry_thread_new(void);

/* Its memory; it is not on the list. Context: the thread itself; the lock is not held. */
void registry_thread_free(struct interrupt_thread *thread);

void registry_add(struct interrupt_thread *thread);
void registry_remove(struct interrupt_thread *thread);

/* @thread gets ticks at whole periods since @begin_ns, those after @now_ns. */
void registry_begin(
	struct interrupt_thread *thread, uint64_t begin_ns, uint64_t period_ns, uint64_t now_ns);

/* Periods of @thread that have ended by @now_ns give no ticks. Context: it gets ticks. */
void registry_skip(struct interrupt_thread *thread, uint64_t now_ns);

/* The period of all is to be had, or not any more: threads without their own begin or end. */
void registry_begin_all(uint64_t now_ns);
void registry_end_all(void);

/* When the first tick of anybody is due; UINT64_MAX: nobody gets any. */
uint64_t registry_due_ns(void);

/* Raise @thread's counter, then its flag. Context: the thread is alive. */
void registry_raise(struct interrupt_thread *thread, uint32_t ticks);

/* In a fork child: only @thread, the calling one, is left; NULL: none. */
void registry_reset_in_child(struct interrupt_thread *thread);

/* ---- the timer ------------------------------------------------------------------------------- */

/*
 * See to it that there is a timer which wakes up by @due_ns; UINT64_MAX: none is needed.
 * Returns 0 or -errno. Context: interrupt.lock is held.
 */
int timer_start(uint64_t due_ns);

/*
 * End the timer when nobody gets ticks, and wait for that. Whenever a thread ends, because a
 * process ends with its last thread, and the timer must not be it. Context: interrupt.lock is not
 * held.
 */
void timer_end_unneeded(void);

/* In a fork child: there is no timer. Context: interrupt.lock is held. */
void timer_reset_in_child(void);

#endif
