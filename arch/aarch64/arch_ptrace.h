/* SPDX-License-Identifier: MIT */
/* Register sets of aarch64. Source: Linux arch/arm64/include/uapi/asm/ptrace.h, user_pt_regs. */
#ifndef ARCH_AARCH64_PTRACE_H
#define ARCH_AARCH64_PTRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "arch/registers.h"

/* 34 words: x0-x30, sp, pc, pstate */
#define ARCH_REGSET_BYTES 272u

static inline void arch_registers_from_regset(struct arch_registers *registers, const void *regset)
{
	const uint64_t *word = regset;

	for (unsigned reg = 0; reg < ARCH_DWARF_REGS; reg++)
		registers->r[reg] = word[reg];
}

/* svc #0 */
#define ARCH_SYSCALL_INSTRUCTION "\x01\x00\x00\xd4"

/*
 * The registers alone decide which call is made next: before the stop, the kernel has already
 * decided whether to restart the interrupted call.
 */
static inline void arch_regset_call(
	void *regset, uintptr_t at, long number, const uintptr_t arguments[6])
{
	uint64_t *word = regset;

	for (unsigned i = 0; i < 6; i++)
		word[i] = arguments[i];
	word[8] = (uint64_t)number;
	word[32] = at;
}

static inline long arch_regset_result(const void *regset)
{
	return *(const int64_t *)regset;
}

/*
 * Not implemented on aarch64: the thread pointer is in another register set, and it points to the
 * end of the struct pthread.
 */
#define ARCH_THREAD_ROBUST 0u
#define ARCH_THREAD_WORDS  1u

static inline bool arch_is_thread_self(uintptr_t self, const uintptr_t words[ARCH_THREAD_WORDS])
{
	(void)self, (void)words;
	return false;
}

static inline uintptr_t arch_thread_self(const void *regset)
{
	(void)regset;
	return 0;
}

/*
 * Return the number of the system call in which @tid is, or -1. The number is in a separate
 * register set, NT_ARM_SYSTEM_CALL (0x404).
 */
static inline int arch_syscall_number(pid_t tid, const void *regset)
{
	int number = -1;
	struct iovec iov = {.iov_base = &number, .iov_len = sizeof(number)};

	(void)regset;
	return ptrace(PTRACE_GETREGSET, tid, (void *)0x404, &iov) || number < 0 ? -1 : number;
}

/* x0 is the interrupted call's result: -4 is -EINTR, -512 to -516 are ERESTART codes. */
static inline bool arch_regset_slept(const void *regset)
{
	int64_t result = *(const int64_t *)regset;

	return result == -4 || (result <= -512 && result >= -516);
}

/*
 * Never restart the call: the kernel has decided before the stop, and x0, the call's first
 * argument, is already overwritten.
 */
static inline bool arch_regset_restart(void *regset)
{
	(void)regset;
	return false;
}

/* The calls that signal(7) lists as restarted after a stop. */
static inline bool arch_is_restarted(long number)
{
	switch (number) {
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_futex:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_wait4:
	case SYS_waitid:
		return true;
	default:
		return false;
	}
}

#endif
