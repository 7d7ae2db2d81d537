/* SPDX-License-Identifier: MIT */
/* Stacks in Lua's own terms, taken at safe points. */
#ifndef FLAMELUA_STACKS_H
#define FLAMELUA_STACKS_H

#include <stdint.h>

/*
 * Record the stack of the Lua code that runs on this thread, through the coroutines that resumed
 * each other, with the builtin that is running as its leaf: @ticks periods. Context: a safe point;
 * a flameprof_interrupt_function.
 */
void stacks_record(void *context, uint32_t ticks);

#endif
