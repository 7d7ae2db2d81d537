/* SPDX-License-Identifier: MIT */
/*
 * How the kernel enters signal handlers. Chosen by include path: arch/<cpu>/arch_handler.h supplies
 * everything named below; a missing piece is an #error.
 */
#ifndef ARCH_HANDLER_H
#define ARCH_HANDLER_H

#include <stdint.h>

#include "arch/registers.h"

#include <arch_handler.h>

/*
 * ARCH_HANDLER_SETS    bit n set: the kernel gives register n a value of its own before a handler's
 *                      first instruction; the others are still those of what was interrupted
 * arch_handler_ucontext(const struct arch_registers *) -> uintptr_t
 *                      where the ucontext lies if the registers are those of a handler's first
 *                      instruction, which is not proved by that; 0: they are not.
 *                      Context: signal-safe.
 * arch_handler_unblock(const uint64_t *set, const void *ucontext)
 *                      Unblock the signals in @set. One that is pending is delivered at
 *                      arch_handler_unblocked, with @ucontext in register ARCH_UNBLOCK_UCONTEXT.
 *                      To be called in one place of the program. Context: signal-safe.
 * arch_handler_repeats(const void *ucontext, uint64_t *second) -> long
 *                      The number of the system call that the interrupted thread makes next, with
 *                      its second argument in *@second; -1: it is at none. Context: the handler.
 * arch_syscall_register0(long number, uint64_t first) -> uint64_t
 *                      What register 0 has to be for system call @number with @first argument
 * ARCH_SYSCALL_BYTES   the size of a system call instruction, which leaves the result in register 0
 */
extern const char arch_handler_unblocked[] __attribute__((visibility("hidden")));

#if !defined(ARCH_HANDLER_SETS) || !defined(ARCH_UNBLOCK_UCONTEXT) || !defined(ARCH_SYSCALL_BYTES)
#error "arch_handler.h lacks a primitive"
#endif

/*
 * Skip the system call instruction that the thread would go on with. @error: the call's result,
 * -errno. Context: the handler.
 */
static inline void arch_handler_fail(void *ucontext, long error)
{
	uint64_t pc = arch_ucontext_get(ucontext, ARCH_DWARF_PC);

	arch_ucontext_set(ucontext, ARCH_DWARF_PC, pc + ARCH_SYSCALL_BYTES);
	arch_ucontext_set(ucontext, 0, (uint64_t)error);
}

/*
 * Go back to the system call instruction that the thread was interrupted at, whose result is in
 * register 0. @number, @first: what was called, and its first argument. Context: the handler.
 */
static inline void arch_handler_repeat(void *ucontext, long number, uint64_t first)
{
	uint64_t pc = arch_ucontext_get(ucontext, ARCH_DWARF_PC);

	arch_ucontext_set(ucontext, ARCH_DWARF_PC, pc - ARCH_SYSCALL_BYTES);
	arch_ucontext_set(ucontext, 0, arch_syscall_register0(number, first));
}

#endif
