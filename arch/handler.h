/* SPDX-License-Identifier: MIT */
/*
 * How the kernel enters signal handlers, and how a handler changes the system call that it
 * interrupted. Selected by include path: arch/<cpu>/arch_handler.h defines all names below; a
 * missing one is an #error.
 */
#ifndef ARCH_HANDLER_H
#define ARCH_HANDLER_H

#include <stdint.h>

#include "arch/registers.h"

#include <arch_handler.h>

/*
 * ARCH_HANDLER_SETS    bit n set: the kernel changes register n before a handler's first
 *                      instruction. All other registers still have the values of the interrupted
 *                      code.
 * arch_handler_ucontext(const struct arch_registers *) -> uintptr_t
 *                      Return the address of the ucontext if the registers look like those at a
 *                      handler's first instruction (this is no proof), else 0.
 *                      Context: signal-safe.
 * arch_handler_unblock(const uint64_t *set, const void *ucontext)
 *                      Unblock the signals in @set. A pending one is delivered at
 *                      arch_handler_unblocked, with @ucontext in register ARCH_UNBLOCK_UCONTEXT.
 *                      Call it at only one line of the program, because it defines that symbol.
 *                      Context: signal-safe.
 * arch_handler_repeats(const void *ucontext, uint64_t *second) -> long
 *                      Return the number of the system call that the interrupted thread makes
 *                      (again) when the handler returns; -1 if none. *@second is set to its
 *                      second argument.
 *                      Context: the handler.
 * arch_syscall_register0(long number, uint64_t first) -> uint64_t
 *                      Return the value of register 0 before system call @number, whose first
 *                      argument is @first.
 * ARCH_SYSCALL_BYTES   size of the system call instruction; the call's result is in register 0
 */
extern const char arch_handler_unblocked[] __attribute__((visibility("hidden")));

#if !defined(ARCH_HANDLER_SETS) || !defined(ARCH_UNBLOCK_UCONTEXT) || !defined(ARCH_SYSCALL_BYTES)
#error "arch_handler.h lacks a primitive"
#endif

/*
 * Make the next instruction, a system call, fail with @error (-errno): skip it and set its result.
 * Context: the handler.
 */
static inline void arch_handler_fail(void *ucontext, long error)
{
	uint64_t pc = arch_ucontext_get(ucontext, ARCH_DWARF_PC);

	arch_ucontext_set(ucontext, ARCH_DWARF_PC, pc + ARCH_SYSCALL_BYTES);
	arch_ucontext_set(ucontext, 0, (uint64_t)error);
}

/*
 * Make the interrupted thread execute its system call again. Before this, register 0 holds the
 * call's result; @number is the call's number and @first its first argument. Context: the handler.
 */
static inline void arch_handler_repeat(void *ucontext, long number, uint64_t first)
{
	uint64_t pc = arch_ucontext_get(ucontext, ARCH_DWARF_PC);

	arch_ucontext_set(ucontext, ARCH_DWARF_PC, pc - ARCH_SYSCALL_BYTES);
	arch_ucontext_set(ucontext, 0, arch_syscall_register0(number, first));
}

#endif
