/* SPDX-License-Identifier: MIT */
/*
 * The registers of a stopped thread of another process, as PTRACE_GETREGSET with NT_PRSTATUS
 * returns them. Selected by include path: arch/<cpu>/arch_ptrace.h defines all names below.
 *
 * ARCH_REGSET_BYTES    size of the set; threads of another word size have another size
 * arch_registers_from_regset(struct arch_registers *, const void *regset)
 *                      Copy all registers from @regset.
 * arch_thread_self(const void *regset) -> uintptr_t
 *                      Return the thread's pthread_self(), or 0 if @regset does not contain it.
 * ARCH_THREAD_ROBUST   offset in bytes of the robust mutex list in glibc's struct pthread, which
 *                      get_robust_list(2) returns for any thread; 0: not known
 * arch_is_thread_self(uintptr_t self, const uintptr_t words[ARCH_THREAD_WORDS]) -> bool
 *                      Are these the first words of a struct pthread at @self?
 * arch_syscall_number(pid_t tid, const void *regset) -> int
 *                      Return the number of the system call that the stopped thread @tid is
 *                      returning from, or -1 if it is in no system call.
 * arch_regset_slept(const void *regset) -> bool
 *                      Has the stop interrupted a system call in which the thread slept? The kernel
 *                      will restart that call, or let it return EINTR.
 * arch_is_restarted(long number) -> bool
 *                      If a stop interrupts system call @number while the thread sleeps in it: does
 *                      the kernel restart the call, possibly after arch_regset_restart(), so that
 *                      nothing is lost?
 * arch_regset_restart(void *regset) -> bool
 *                      If the call returns EINTR only because of the stop, change the set so that
 *                      the kernel restarts the call, unless a signal handler runs. The call's
 *                      timeout begins again, so use this only if the call has just begun to wait.
 *                      Returns whether the set was changed.
 * ARCH_SYSCALL_INSTRUCTION
 *                      bytes of the system call instruction, as a string
 * arch_regset_call(void *regset, uintptr_t at, long number, const uintptr_t arguments[6])
 *                      Change the set so that the thread makes system call @number next, by the
 *                      instruction at @at, and restarts no interrupted call before that.
 * arch_regset_result(const void *regset) -> long
 *                      Return the result of that call, after the instruction was executed.
 */
#ifndef ARCH_PTRACE_H
#define ARCH_PTRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <arch_ptrace.h>

#if !defined(ARCH_REGSET_BYTES) || !defined(ARCH_THREAD_ROBUST) || \
	!defined(ARCH_SYSCALL_INSTRUCTION)
#error "arch_ptrace.h lacks a primitive"
#endif

/* Is the stopped thread @tid returning from a system call? */
static inline bool arch_in_syscall(pid_t tid, const void *regset)
{
	return arch_syscall_number(tid, regset) >= 0;
}

#endif
