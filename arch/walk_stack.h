/* SPDX-License-Identifier: MIT */
/*
 * Run a function on another stack, and get the size of the kernel's signal frame. Selected by
 * include path: arch/<cpu>/arch_walk_stack.h and arch_walk_stack.S define all names below; a
 * missing one is an #error.
 */
#ifndef ARCH_WALK_STACK_H
#define ARCH_WALK_STACK_H

#include <stddef.h>

#include <arch_walk_stack.h>

/*
 * Call function(argument) on the stack that ends at @top (16-byte aligned, one past the end), and
 * return on the old stack. All signals must be blocked; otherwise the kernel would deliver them on
 * the new stack.
 * Context: signal-safe.
 */
void arch_call_on_stack(void *top, void (*function)(void *), void *argument)
	__attribute__((visibility("hidden")));

/*
 * arch_signal_frame_bytes() -> size_t
 *     Return how many bytes below the stack pointer the kernel may use to deliver a signal to this
 *     process, including the red zone. Context: signal-safe.
 * arch_ask_valgrind(uint64_t number, uintptr_t first, uintptr_t second) -> uint64_t
 *     Under valgrind, make client request @number; elsewhere do nothing and return 0.
 *     Context: any thread.
 */
#ifndef ARCH_HAS_WALK_STACK
#error "arch_walk_stack.h lacks a primitive"
#endif

/* Source: valgrind.h. */
#define VALGRIND_IS_RUNNING	0x1001
#define VALGRIND_STACK_REGISTER 0x1501 /* lowest address, highest address */

#endif
