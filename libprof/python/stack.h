/* SPDX-License-Identifier: MIT */
/*
 * How much of a thread's C stack named functions may take.
 */
#ifndef LIBPROF_PYTHON_STACK_H
#define LIBPROF_PYTHON_STACK_H

#include <stdint.h>

/* A thread may run named functions while its stack pointer is from @low to @low + @bytes. */
struct stack_share {
	const void *thread; /* whose: any address that stands for it; NULL: nobody's */
	uintptr_t low;
	uintptr_t bytes;
};

/*
 * The share of the calling thread, known to its caller as @thread: the uppermost part of its stack.
 * Nothing (bytes 0) of a stack that is not the thread's own, as coroutines in C have it.
 *
 * Context: any thread.
 */
struct stack_share stack_share_of_caller(const void *thread);

#endif
