/* SPDX-License-Identifier: MIT */
/* Register sets of x86_64. Source: Linux arch/x86/include/asm/user_64.h, user_regs_struct. */
#ifndef ARCH_X86_64_PTRACE_H
#define ARCH_X86_64_PTRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include "arch/registers.h"

/*
 * 27 words: r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss
 * fs_base gs_base ds es fs gs
 */
#define ARCH_REGSET_BYTES 216u

static inline void arch_registers_from_regset(struct arch_registers *registers, const void *regset)
{
	static const uint8_t position[ARCH_DWARF_REGS] = {
		10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16};
	const uint64_t *word = regset;

	for (unsigned reg = 0; reg < ARCH_DWARF_REGS; reg++)
		registers->r[reg] = word[position[reg]];
}

/* Words 0 and 2 of glibc's struct pthread (header.tcb, header.self) hold the struct's address. */
#define ARCH_THREAD_ROBUST	736u
#define ARCH_THREAD_WORDS	3u

static inline bool arch_is_thread_self(uintptr_t self, const uintptr_t words[ARCH_THREAD_WORDS])
{
	return words[0] == self && words[2] == self;
}

/* syscall */
#define ARCH_SYSCALL_INSTRUCTION "\x0f\x05"

/* Set orig_rax to -1, so that the kernel restarts no interrupted call. */
static inline void arch_regset_call(
	void *regset, uintptr_t at, long number, const uintptr_t arguments[6])
{
	static const uint8_t position[6] = {14, 13, 12, 7, 9, 8};
	uint64_t *word = regset;

	for (unsigned i = 0; i < 6; i++)
		word[position[i]] = arguments[i];
	word[10] = (uint64_t)number;
	word[15] = ~0ULL;
	word[16] = at;
}

static inline long arch_regset_result(const void *regset)
{
	return ((const int64_t *)regset)[10];
}

/* fs_base */
static inline uintptr_t arch_thread_self(const void *regset)
{
	return ((const uint64_t *)regset)[21];
}

/* orig_rax is -1 outside of system calls. */
static inline int arch_syscall_number(pid_t tid, const void *regset)
{
	int64_t number = ((const int64_t *)regset)[15];

	(void)tid;
	return number >= 0 && number <= INT32_MAX ? (int)number : -1;
}

/* rax is the interrupted call's result: -4 is -EINTR, -512 to -516 are ERESTART codes. */
static inline bool arch_regset_slept(const void *regset)
{
	int64_t result = ((const int64_t *)regset)[10];

	return result == -4 || (result <= -512 && result >= -516);
}

/*
 * Restart the calls that signal(7) lists as returning EINTR after a stop. When they return EINTR
 * they have not done anything yet, so restarting them loses nothing. -514 is the kernel's
 * ERESTARTNOHAND, which the kernel replaces when the thread resumes; the program never sees it.
 */
static inline bool arch_regset_restart(void *regset)
{
	uint64_t *word = regset;

	if ((int64_t)word[10] != -4)
		return false;
	switch ((int64_t)word[15]) {
	case 232: /* epoll_wait */
	case 281: /* epoll_pwait */
	case 441: /* epoll_pwait2 */
	case 128: /* rt_sigtimedwait */
	case 65:  /* semop */
		word[10] = (uint64_t)-514;
		return true;
	default:
		return false;
	}
}

/*
 * signal(7) lists these calls as restarted after a stop, except the epoll calls, which
 * arch_regset_restart() restarts.
 */
static inline bool arch_is_restarted(long number)
{
	switch (number) {
	case SYS_poll:
	case SYS_select:
	case SYS_pause:
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
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
