/* SPDX-License-Identifier: MIT */
/*
 * Count ticks for registered threads and deliver them to the host (flameprof_vm.h).
 *
 *   timer ──every period──▶ counter += periods, then flag = 1 ─ ─ ▶ safe point of the thread:
 *   (our own thread)        of each registered thread               counter = 0, call the host
 *
 * A counter is thread-local storage of a thread that may end at any moment. So the timer writes it
 * under the lock, and a thread leaves the list under the lock before its storage is freed.
 */
#ifndef LIBPROF_INTERRUPT_INTERRUPT_H
#define LIBPROF_INTERRUPT_INTERRUPT_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/stub.h"
#include "libprof/flameprof_vm.h"

/* ---- ticks of the calling thread ------------------------------------------------------------- */
/* Access to flameprof_interrupt_ticks inside the library. */

/*
 * Returns the calling thread's counter, in this copy of the library even if the dynamic linker
 * would find another symbol of that name first. Valid until the thread ends. Context: signal-safe.
 */
volatile uint32_t *interrupt_ticks_here(void);

/* Returns the counter's offset from the thread pointer, in bytes. Context: signal-safe. */
intptr_t interrupt_ticks_offset(void);

/* flameprof_interrupt_take() of this copy of the library, for generated code. */
void interrupt_take(void);

/* ---- which threads get ticks ----------------------------------------------------------------- */

/*
 * One registered thread. Allocated from the heap, because thread-local storage ends with the
 * thread.
 */
struct interrupt_thread {
	struct interrupt_thread *next;
	/* Atomic; raised by the timer, zeroed by the thread. */
	volatile uint32_t *ticks;
	unsigned char *flag;	  /* atomic; NULL: none */
	void (*tick)(void *context); /* NULL: none */
	void *tick_context;
	flameprof_interrupt_function *function; /* NULL: interrupt.function */
	void *context;				/* for `function` */
	/*
	 * Period of the thread's ticks: its own, or interrupt.period_ns. 0 if the thread gets no
	 * ticks now.
	 */
	uint64_t period_ns;
	/* CLOCK_MONOTONIC of the thread's next tick; valid if period_ns is not 0. */
	uint64_t due_ns;
	/*
	 * Robust mutex, locked by the thread while it is registered. If the thread ends by a system
	 * call, without libc, the kernel marks the mutex before another thread can see the end.
	 */
	pthread_mutex_t alive;
};

struct interrupt {
	/*
	 * Protects the list, the timer's state and the writing of the fields below. While it is
	 * held, only locks of the C library may be taken.
	 */
	pthread_mutex_t lock;
	struct interrupt_thread *threads;
	/* In a fork child: entries of the parent's other threads, for reuse. */
	struct interrupt_thread *spare;
	/*
	 * The fields below are set by flameprof_interrupt_enable(), for threads without a function
	 * of their own. While flameprof_interrupt_disable() waits until `inside` is 0, there is a
	 * period but no function.
	 */
	/* Start of the first period, CLOCK_MONOTONIC. */
	uint64_t begin_ns;
	uint64_t period_ns;		/* atomic; 0: not enabled */
	void *context;			/* written before `function` */
	flameprof_interrupt_function *function; /* atomic; NULL: not enabled */
	/*
	 * Number of threads that may be calling `function`; atomic and a futex. A thread increments
	 * it before it zeroes its counter and reads `function`. A thread that sets `function` to
	 * NULL then waits until `inside` is 0.
	 */
	uint32_t inside;
};

extern struct interrupt interrupt __attribute__((visibility("hidden")));

/*
 * Returns the period of flameprof_interrupt_enable(); 0 if ticks are not enabled. Context:
 * signal-safe.
 */
static inline uint64_t interrupt_period_ns(void)
{
	return __atomic_load_n(&interrupt.period_ns, __ATOMIC_RELAXED);
}

/*
 * Returns the period of the calling thread's ticks: its own or that of
 * flameprof_interrupt_enable(); 0: none. Context: any thread, not a handler.
 */
uint64_t interrupt_period_here_ns(void);

/* ---- intercepts ------------------------------------------------------------------------------ */
/*
 * Functions of intercept.c that other files of this folder use. libprof/flameprof_vm.h explains
 * intercept stubs. An intercept stub is an ordinary stub (libprof/flameprof_stub.h) whose payload
 * is the original function. All stubs of one arena have the same number of stack words.
 */

/*
 * Returns 1 if @function is an intercept stub, and sets *@original to its original function.
 * Context: signal-safe.
 */
int intercept_find(flameprof_function *function, flameprof_function **original);

/*
 * Find or make the intercept stub of @original and store it in *@out. If @original is an intercept
 * stub itself, store @original. The other parameters are those of flameprof_intercept().
 * Returns 0, -EINVAL, -EACCES, -EBUSY between suspend and resume, or -ENOMEM.
 */
int intercept_make(flameprof_function **out, flameprof_function *original, const char *name,
	const struct flameprof_signature *signature);

/*
 * Set the fields of @shape that depend on this process and its CPU. Call it before an arena is
 * made, and when a saved image of the process is resumed.
 */
void intercept_prepare(struct arch_stub_shape *shape);

#endif
