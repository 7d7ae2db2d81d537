/* SPDX-License-Identifier: MIT */
/*
 * Run a function on a stack of OWN_STACK_BYTES even if `ulimit -s` is lower, because cairo,
 * fontconfig and libunwind use some hundred KiB of stack. By default a thread's stack has the size
 * of the limit. The limit is not changed, because the profiled program inherits it.
 */
#ifndef CLI_OWN_STACK_H
#define CLI_OWN_STACK_H

#include <pthread.h>

/* Bytes, the usual `ulimit -s`. Only pages that are used cost memory. */
#define OWN_STACK_BYTES (8u << 20)

/* Create a thread with OWN_STACK_BYTES of stack, like pthread_create(). Returns 0 or -errno. */
int own_stack_thread(pthread_t *thread, void *(*start)(void *), void *argument);

/*
 * Call @call with @argument and wait until it has returned. If `ulimit -s` is below
 * OWN_STACK_BYTES, call it in a new thread, which then handles the signals of the process. Returns
 * 0, or -errno if @call was not called.
 */
int own_stack_call(void (*call)(void *), void *argument);

#endif
