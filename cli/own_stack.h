/* SPDX-License-Identifier: MIT */
/*
 * Run code on a stack of sufficient size, whatever `ulimit -s` says, because cairo, fontconfig and
 * libunwind use some hundred KiB. By default a thread's stack has the size of the limit. The limit
 * itself is not changed, because the profiled program inherits it.
 */
#ifndef CLI_OWN_STACK_H
#define CLI_OWN_STACK_H

#include <pthread.h>

/* The usual limit. Only pages that are used cost memory. */
#define OWN_STACK_BYTES (8u << 20)

/* Create a thread, as pthread_create(), with OWN_STACK_BYTES of stack. Returns 0 or -errno. */
int own_stack_thread(pthread_t *thread, void *(*start)(void *), void *argument);

/*
 * Call @call with @argument and wait until it has returned. If the limit is below OWN_STACK_BYTES,
 * call it in a second thread, which then also handles the signals of the process.
 * Returns 0, or -errno if @call was not called.
 */
int own_stack_call(void (*call)(void *), void *argument);

#endif
