/* SPDX-License-Identifier: MIT */
/*
 * Stacks that `ulimit -s` does not bind. cairo, fontconfig and libunwind take some hundred KiB
 * without asking, and a thread gets the limit as its size unless told otherwise. The limit itself
 * stays as it is: it is the profiled program's, too.
 */
#ifndef CLI_OWN_STACK_H
#define CLI_OWN_STACK_H

#include <pthread.h>

/* What a shell allows when nobody has asked for less; of it only what is used costs memory. */
#define OWN_STACK_BYTES (8u << 20)

/* As pthread_create(), with OWN_STACK_BYTES of stack. Returns 0 or -errno. */
int own_stack_thread(pthread_t *thread, void *(*start)(void *), void *argument);

/*
 * Call @call with @argument and return when it has. Where the limit is below OWN_STACK_BYTES this
 * is done in a thread, which then is the one that signals of the process reach.
 * Returns 0, or -errno with nothing called.
 */
int own_stack_call(void (*call)(void *), void *argument);

#endif
