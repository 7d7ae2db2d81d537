/* SPDX-License-Identifier: MIT */
/* Record the stacks of Lua's calls at safe points. */
#ifndef FLAMELUA_STACKS_H
#define FLAMELUA_STACKS_H

#include <stdint.h>

/*
 * Record the stack of the Lua code that runs on this thread, with a weight of @ticks periods. The
 * stack includes all coroutines that resumed each other, and the running builtin as its leaf.
 * Context: a safe point; this is a flameprof_interrupt_function.
 */
void stacks_record(void *context, uint32_t ticks);

#endif
