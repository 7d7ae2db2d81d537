/* SPDX-License-Identifier: MIT */
/*
 * What a thread keeps of interrupts for itself: the only thread-local storage of the library, 8
 * bytes. Generated code reads the counter at a constant distance from the thread pointer, so it is
 * static storage also where the library is opened late: glibc keeps room for that.
 */
#include "libprof/interrupt/ticks.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>

#include "arch/syscall.h"
#include "libprof/flameprof_vm.h"
#include "libprof/interrupt/interrupt.h"
#include "libprof/trampoline/elsewhere.h"

#define STATIC_STORAGE __attribute__((tls_model("initial-exec")))

__thread volatile uint32_t flameprof_interrupt_ticks;

/* A program that exports a counter of its own stands before us; ours is the one under this name. */
extern __thread volatile uint32_t own_ticks STATIC_STORAGE
	__attribute__((alias("flameprof_interrupt_ticks"), visibility("hidden")));

enum own_state {
	INSIDE = 1, /* the host's function is running on this thread */
	MARKED = 2, /* one of the ticks is interrupt_ticks_mark()'s */
	COUNTED = 4, /* one of interrupt.inside */
};

static __thread uint32_t own_state STATIC_STORAGE;

volatile uint32_t *interrupt_ticks_here(void)
{
	return &own_ticks;
}

intptr_t interrupt_ticks_offset(void)
{
	return (intptr_t)((uintptr_t)&own_ticks - (uintptr_t)__builtin_thread_pointer());
}

void interrupt_ticks_clear(void)
{
	own_state &= ~(uint32_t)MARKED;
	__atomic_store_n(&own_ticks, 0, __ATOMIC_RELAXED);
}

void interrupt_ticks_mark(void)
{
	own_state |= MARKED;
	__atomic_fetch_add(&own_ticks, 1, __ATOMIC_RELAXED);
}

static void enter(void)
{
	own_state |= COUNTED;
	__atomic_fetch_add(&interrupt.inside, 1, __ATOMIC_SEQ_CST);
}

void interrupt_leave(void)
{
	if (!(own_state & COUNTED))
		return;
	own_state &= ~(uint32_t)COUNTED;
	if (__atomic_fetch_sub(&interrupt.inside, 1, __ATOMIC_SEQ_CST) == 1 &&
		!__atomic_load_n(&interrupt.function, __ATOMIC_SEQ_CST))
		arch_syscall3(SYS_futex, &interrupt.inside, FUTEX_WAKE_PRIVATE, INT_MAX);
}

int interrupt_is_inside(void)
{
	return (own_state & COUNTED) != 0;
}

void interrupt_stay_inside_in_child(void)
{
	__atomic_store_n(&interrupt.inside, own_state & COUNTED ? 1 : 0, __ATOMIC_SEQ_CST);
}

void interrupt_wait_until_outside(void)
{
	uint32_t inside;

	while ((inside = __atomic_load_n(&interrupt.inside, __ATOMIC_SEQ_CST)))
		arch_syscall6(SYS_futex, (long)&interrupt.inside, FUTEX_WAIT_PRIVATE, (long)inside,
			(long)NULL, 0, 0);
}

void interrupt_call(uint32_t ticks)
{
	const struct interrupt_thread *thread = interrupt_here();
	flameprof_interrupt_function *function;
	void *context = NULL;

	if (thread && thread->function) {
		function = thread->function;
		context = thread->context;
	} else {
		function = __atomic_load_n(&interrupt.function, __ATOMIC_SEQ_CST);
		/* Not written while we are inside and there is a function. */
		if (function)
			context = interrupt.context;
	}
	if (!function)
		return;
	own_state |= INSIDE;
	function(context, ticks);
	own_state &= ~(uint32_t)INSIDE;
}

void interrupt_take(void)
{
	int saved_errno = errno;
	const struct interrupt_thread *thread;
	uint32_t ticks;

	if (own_state & INSIDE)
		return;
	thread = interrupt_here();
	/* Before the ticks are taken, so that none of them comes to a function enabled later. */
	if (!thread || !thread->function)
		enter();
	ticks = __atomic_exchange_n(&own_ticks, 0, __ATOMIC_ACQUIRE);
	if (ticks && own_state & MARKED) {
		own_state &= ~(uint32_t)MARKED;
		ticks--;
		interrupt_begin_in_child();
	}
	if (ticks)
		interrupt_call(ticks);
	interrupt_leave();
	errno = saved_errno;
}

void flameprof_interrupt_take(void)
{
	if (!elsewhere.flameprof_interrupt_take) {
		interrupt_take();
	} else if (!(own_state & INSIDE)) {
		/* The other copy has the ticks, ours only says that there are some. */
		__atomic_store_n(&own_ticks, 0, __ATOMIC_SEQ_CST);
		elsewhere.flameprof_interrupt_take();
	}
}
