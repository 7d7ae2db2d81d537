/* SPDX-License-Identifier: MIT */
/*
 * The timer: a thread that is there while threads are registered and ticks enabled, and a little
 * longer, resting, for those that come back.
 */
#ifndef LIBPROF_INTERRUPT_TIMER_H
#define LIBPROF_INTERRUPT_TIMER_H

/*
 * See to it that there is a timer when one is needed.
 * Returns 0 or -errno. Context: interrupt.lock is held.
 */
int timer_need(void);

/*
 * A thread ends: end the timer, too, when nobody is registered, and wait for that. A process ends
 * with its last thread, and the timer must not be it. Context: interrupt.lock is not held.
 */
void timer_end_unneeded(void);

/* In a fork child: there is no timer. Context: interrupt.lock is held. */
void timer_forget_in_child(void);

#endif
