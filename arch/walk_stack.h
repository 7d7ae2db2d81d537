/* SPDX-License-Identifier: MIT */
/*
 * Running a function on another stack, and what the kernel puts on a stack to deliver a signal.
 * Chosen by include path: arch/<cpu>/arch_walk_stack.h and arch_walk_stack.S supply everything
 * named below; a missing piece is an #error.
 */
#ifndef ARCH_WALK_STACK_H
#define ARCH_WALK_STACK_H

#include <stddef.h>

#include <arch_walk_stack.h>

/*
 * Call function(argument) with the stack pointer at @top, one past the end of a stack and 16-byte
 * aligned, and return on the old stack. Signals have to be blocked: the kernel would otherwise
 * deliver them on the new stack.
 * Context: signal-safe.
 */
void arch_call_on_stack(void *top, void (*function)(void *), void *argument)
	__attribute__((visibility("hidden")));

/*
 * arch_signal_frame_bytes() -> size_t
 *     How many bytes below the stack pointer the kernel uses at most to deliver a signal to the
 *     calling process, the red zone included. Context: signal-safe.
 * arch_ask_valgrind(uint64_t number, uintptr_t first, uintptr_t second) -> uint64_t
 *     Under valgrind, make the client request @number; elsewhere do nothing and return 0.
 *     Context: any thread.
 */
#ifndef ARCH_HAS_WALK_STACK
#error "arch_walk_stack.h lacks a primitive"
#endif

/* Source: valgrind.h. */
#define VALGRIND_IS_RUNNING	0x1001
#define VALGRIND_STACK_REGISTER 0x1501 /* lowest address, highest address */

#endif
