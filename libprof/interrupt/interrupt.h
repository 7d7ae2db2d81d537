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
#include <stddef.h>
#include <stdint.h>

#include "arch/stub.h"
#include "libprof/flameprof_vm.h"

/* ---- ticks of the calling thread ------------------------------------------------------------- */
/*
 * Ticks of the calling thread: flameprof_interrupt_ticks as the rest of the library gets at it.
 */

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

/*
 * flameprof_interrupt_take() of this copy of the library, whatever name stands before it: for
 * generated code.
 */
void interrupt_take(void);

/* ---- who gets ticks -------------------------------------------------------------------------- */

/* One registered thread; kept in memory of the process, not of the thread. */
struct interrupt_thread {
	struct interrupt_thread *next;
	volatile uint32_t *ticks; /* atomic; raised by the timer, taken by the thread */
	unsigned char *flag;	  /* atomic; NULL: none */
	void (*tick)(void *context); /* NULL: none */
	void *tick_context;
	flameprof_interrupt_function *function; /* its own; NULL: that of all */
	void *context;				/* the function's */
	uint64_t period_ns; /* its own, or that of all; 0: it gets no ticks now */
	uint64_t due_ns;    /* of its next tick, with a period */
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
	/*
	 * Of flameprof_interrupt_enable(), for threads without their own. A period without a
	 * function: flameprof_interrupt_disable() waits for those who are inside.
	 */
	uint64_t begin_ns;		/* periods are counted from here */
	uint64_t period_ns;		/* atomic; 0: not enabled */
	void *context;			/* before `function` */
	flameprof_interrupt_function *function; /* atomic; NULL: not enabled */
	/*
	 * Atomic, futex: threads that may call `function`. Each adds itself before it takes ticks
	 * and looks for the function; who clears that then waits for 0.
	 */
	uint32_t inside;
};

extern struct interrupt interrupt __attribute__((visibility("hidden")));

/* The period of flameprof_interrupt_enable(), 0 before. Context: signal-safe. */
static inline uint64_t interrupt_period_ns(void)
{
	return __atomic_load_n(&interrupt.period_ns, __ATOMIC_RELAXED);
}

/*
 * The period of ticks that the calling thread gets, else that of all; 0: none. Context: likewise.
 */
uint64_t interrupt_period_here_ns(void);

/* ---- intercepts ------------------------------------------------------------------------------ */
/*
 * What the rest of the folder has to know of intercepts (libprof/flameprof_vm.h). Their stubs are
 * slots of ordinary arenas, one for each number of stack words, and have the original as payload.
 */

/* Is @function an intercept stub? Its original in *@original then. Context: signal-safe. */
int intercept_find(flameprof_function *function, flameprof_function **original);

/*
 * flameprof_intercept(), with errors: *@out is the stub, or @original if that is one.
 * Returns 0; -EINVAL; -EACCES; -EBUSY between suspend and resume; -ENOMEM.
 */
int intercept_make(flameprof_function **out, flameprof_function *original, const char *name,
	const struct flameprof_signature *signature);

/*
 * What intercept stubs of @shape have to know of this process and its CPU. Before an arena is made,
 * and again where an image of the process goes on.
 */
void intercept_prepare(struct arch_stub_shape *shape);

#endif
