/* SPDX-License-Identifier: MIT */
/*
 * The list of threads that get ticks. Context, unless stated otherwise: interrupt.lock is held.
 */
#ifndef LIBPROF_INTERRUPT_REGISTRY_H
#define LIBPROF_INTERRUPT_REGISTRY_H

#include <stdint.h>

#include "libprof/interrupt/interrupt.h"

/*
 * Memory for the calling thread, not on the list. Returns NULL without memory.
 * Context: the lock is not held.
 */
struct interrupt_thread *registry_thread_new(void);

/* Its memory; it is not on the list. Context: the thread itself; the lock is not held. */
void registry_thread_free(struct interrupt_thread *thread);

void registry_add(struct interrupt_thread *thread);
void registry_remove(struct interrupt_thread *thread);

/* Periods that have passed at @now_ns. Enabled only. */
uint64_t registry_periods(uint64_t now_ns);

/*
 * Give each thread the periods that it has not had by @now_ns: its counter is raised, up to
 * UINT32_MAX, then its flag. Threads that have ended unseen come off the list.
 */
void registry_tick(uint64_t now_ns);

/* Raise @thread's counter, then its flag. Context: the thread is alive. */
void registry_raise(struct interrupt_thread *thread, uint32_t ticks);

/* In a fork child: only @thread, the calling one, is left; NULL: none. */
void registry_keep_in_child(struct interrupt_thread *thread);

#endif
