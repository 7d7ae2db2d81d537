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
 * arch_handler_fail(void *ucontext, long error)
 *                      Skip that instruction, with @error (-errno) as the call's result. Context:
 *                      the handler.
 */
extern const char arch_handler_unblocked[] __attribute__((visibility("hidden")));

#if !defined(ARCH_HANDLER_SETS) || !defined(ARCH_UNBLOCK_UCONTEXT)
#error "arch_handler.h lacks a primitive"
#endif

#endif
