/* SPDX-License-Identifier: MIT */
/*
 * Where stacks lie. A thread that met us at its birth told the bounds of its own; for others the
 * handler shows once what it sees, and whoever empties the rings looks it up here. Until then, and
 * for stacks that stay unknown, the kernel does the handler's loads: slower, never wrong.
 */
#ifndef LIBPROF_SAMPLER_STACK_H
#define LIBPROF_SAMPLER_STACK_H

#include <stdint.h>

struct sampler_thread;

/* The size limit of the main thread's stack, as far as plain loads are trusted. */
uintptr_t stack_main_bytes(void);

/* Publish the main thread's stack in @thread, which is it. Context: any thread, not a handler. */
void stack_publish_main(struct sampler_thread *thread);

/* Publish the calling thread's own bounds; its handler may run meanwhile. */
void stack_publish_own(struct sampler_thread *thread, uintptr_t lo, uintptr_t hi);

/*
 * Look up the stacks that handlers have shown since the last call. Returns how many became known.
 * Context: one thread at a time, not a handler.
 */
unsigned stack_publish_seen(void);

/*
 * The part of mapping [@start, @end) that is the stack of a thread that had @sp in it and its
 * control block at @self. Returns its end, or 0 when it can't be told from others'.
 */
uintptr_t stack_end(uintptr_t start, uintptr_t end, uintptr_t sp, uintptr_t self);

#endif
