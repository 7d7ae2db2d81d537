/* SPDX-License-Identifier: MIT */
/*
 * Ticks of the calling thread: flameprof_interrupt_ticks as the rest of the library gets at it.
 */
#ifndef LIBPROF_INTERRUPT_TICKS_H
#define LIBPROF_INTERRUPT_TICKS_H

#include <stdint.h>

/*
 * The counter of the calling thread, of this copy of the library, whatever name stands before it in
 * the order of search. Stays where it is until the thread has ended. Context: signal-safe.
 */
volatile uint32_t *interrupt_ticks_here(void);

/*
 * Where that lies from the thread pointer, in bytes, the same for all threads: for generated code.
 * Context: signal-safe.
 */
intptr_t interrupt_ticks_offset(void);

/* The calling thread's counter becomes 0, without a mark. */
void interrupt_ticks_clear(void);

/*
 * Bring the calling thread to its next safe point, where a tick that is none has
 * interrupt_begin_in_child() called. Context: signal-safe.
 */
void interrupt_ticks_mark(void);

/*
 * flameprof_interrupt_take() of this copy of the library, whatever name stands before it: for
 * generated code.
 */
void interrupt_take(void);

/*
 * Call the host's function on this thread, its own or that of all; while it runs no tick is taken.
 */
void interrupt_call(uint32_t ticks);

/* Is the calling thread one that may be in the function of all? interrupt.inside counts it. */
int interrupt_is_inside(void);

/* It is not any more; nothing happens for one that is not. */
void interrupt_leave(void);

/* In a fork child: the calling thread is what it was, and the only one. */
void interrupt_stay_inside_in_child(void);

/* Wait until no thread is inside. Context: interrupt.function is NULL; the lock is not held. */
void interrupt_wait_until_outside(void);

#endif
