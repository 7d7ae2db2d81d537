/* SPDX-License-Identifier: MIT */
/*
 * Interrupts, inside libprof/: who gets ticks, and what is done with them.
 *
 *   timer ──every period──▶ counter += periods, then flag = 1 ─ ─ ▶ safe point of the thread:
 *   (a thread of ours)      of each registered thread               counter taken, host called
 *
 * A counter is thread-local storage of a thread that may end at any moment, so the timer writes to
 * it under the lock, and a thread comes off the list under the lock before its storage goes.
 */
#ifndef LIBPROF_INTERRUPT_INTERRUPT_H
#define LIBPROF_INTERRUPT_INTERRUPT_H

#include <pthread.h>
#include <stdint.h>

#include "libprof/flameprof_vm.h"

/* One registered thread; kept in memory of the process, not of the thread. */
struct interrupt_thread {
	struct interrupt_thread *next;
	volatile uint32_t *ticks; /* atomic; raised by the timer, taken by the thread */
	unsigned char *flag;	  /* atomic; NULL: none */
	void (*tick)(void *context); /* NULL: none */
	void *context;
	uint64_t periods; /* as many of the timer's have been counted */
	/*
	 * Robust, locked by the thread for as long as it is registered: where a thread ends without
	 * libc, by a system call, the kernel says so here before anybody can learn that it ended.
	 */
	pthread_mutex_t alive;
};

struct interrupt {
	/* Protects the list, what the timer does, and writing what follows it. No other is taken
	 * under it but the C library's. */
	pthread_mutex_t lock;
	struct interrupt_thread *threads;
	struct interrupt_thread *spare; /* a fork child's, of threads it does not have */
	uint64_t begin_ns;		/* periods are counted from here */
	uint64_t period_ns;		/* atomic; 0: not enabled */
	void *context;			/* before `function` */
	flameprof_interrupt_function *function; /* atomic; NULL: not enabled */
};

extern struct interrupt interrupt __attribute__((visibility("hidden")));

/* The period of flameprof_interrupt_enable(), 0 before. Context: signal-safe. */
static inline uint64_t interrupt_period_ns(void)
{
	return __atomic_load_n(&interrupt.period_ns, __ATOMIC_RELAXED);
}

/*
 * A fork child is at a safe point: let its timer begin. Returns 0 or -errno: no ticks then.
 * Context: any thread, not a handler; no lock held.
 */
int interrupt_begin_in_child(void);

#endif
