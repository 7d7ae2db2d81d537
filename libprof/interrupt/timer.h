/* SPDX-License-Identifier: MIT */
/*
 * The timer: a thread that is there while threads are registered that get ticks, and a little
 * longer, resting, for those that come back.
 */
#ifndef LIBPROF_INTERRUPT_TIMER_H
#define LIBPROF_INTERRUPT_TIMER_H

#include <stdint.h>

/*
 * See to it that there is a timer which wakes up by @due_ns; UINT64_MAX: none is needed.
 * Returns 0 or -errno. Context: interrupt.lock is held.
 */
int timer_need(uint64_t due_ns);

/*
 * End the timer when nobody gets ticks, and wait for that. Whenever a thread ends, because a process
 * ends with its last thread, and the timer must not be it. Context: interrupt.lock is not held.
 */
void timer_end_unneeded(void);

/* In a fork child: there is no timer. Context: interrupt.lock is held. */
void timer_forget_in_child(void);

#endif
