/* SPDX-License-Identifier: MIT */
/*
 * The registers of a stopped thread of another process, as PTRACE_GETREGSET with NT_PRSTATUS gives
 * them. Chosen by include path: arch/<cpu>/arch_ptrace.h supplies everything named below.
 *
 * ARCH_REGSET_BYTES    how large the set is; a thread of another word size has another one
 * arch_registers_from_regset(struct arch_registers *, const void *regset)
 * arch_thread_self(const void *regset) -> uintptr_t
 *                      what pthread_self() is in the thread; 0: no register tells
 * ARCH_THREAD_ROBUST   bytes from there to the list of robust mutexes in glibc's struct pthread,
 *                      which get_robust_list(2) tells of any thread; 0: nothing in a struct shows
 *                      that it is one
 * arch_is_thread_self(uintptr_t self, const uintptr_t words[ARCH_THREAD_WORDS]) -> bool
 *                      do the words at @self show that a struct pthread begins there?
 * arch_syscall_number(pid_t tid, const void *regset) -> int
 *                      of the system call that the stopped thread @tid is on its way out of; -1
 *                      outside of any
 * arch_regset_slept(const void *regset) -> bool
 *                      and of one in which it was asleep, which stopping it broke off: the kernel
 *                      is going to restart it, or it says that it was interrupted
 * arch_is_restarted(long number) -> bool
 *                      does the kernel, together with arch_regset_restart(), begin system call
 *                      @number again if a stop breaks it off while the thread sleeps in it, and is
 *                      nothing lost then?
 * arch_regset_restart(void *regset) -> bool
 *                      of a thread on its way out of a call that says EINTR only because of the
 *                      stop: change the set so that the kernel restarts the call unless a signal's
 *                      handler is to run, as it does by itself with most calls. The call has only
 *                      begun to wait, so that its timeout may begin anew.
 * ARCH_SYSCALL_INSTRUCTION
 *                      the bytes of the instruction that makes a system call, as a string
 * arch_regset_call(void *regset, uintptr_t at, long number, const uintptr_t arguments[6])
 *                      change the set so that the thread makes system call @number next, by the
 *                      instruction at @at, and the kernel restarts no other call before it
 * arch_regset_result(const void *regset) -> long
 *                      what that call returned, once the instruction has run
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

static inline bool arch_in_syscall(pid_t tid, const void *regset)
{
	return arch_syscall_number(tid, regset) >= 0;
}

#endif
