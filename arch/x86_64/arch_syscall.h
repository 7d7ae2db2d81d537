/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: raw system calls of x86_64. Source: System V AMD64 ABI, appendix A.2. */
#ifndef ARCH_X86_64_SYSCALL_H
#define ARCH_X86_64_SYSCALL_H

#include <linux/audit.h>

/* Whose numbers these are, as seccomp filters see it. */
#define ARCH_AUDIT AUDIT_ARCH_X86_64

static inline __attribute__((always_inline)) long arch_syscall6(
	long nr, long a, long b, long c, long d, long e, long f)
{
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static inline long arch_spawn_vm(
	unsigned long flags, void *stack_top, void (*entry)(void *), void *argument)
{
	long result;
	void **stack = (void **)stack_top - 2;

	stack[1] = argument;
	stack[0] = (void *)entry;
	/*
	 * The child pops its entry and argument off the new stack, which leaves the stack pointer
	 * at stack_top: 16-byte aligned before the call. rbp = 0 ends frame-pointer walks.
	 */
	register long r10 __asm__("r10") = 0;
	register long r8 __asm__("r8") = 0;
	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "pop %%rax\n\t"
			 "pop %%rdi\n\t"
			 "call *%%rax\n\t"
			 "ud2\n"
			 "1:"
			 : "=a"(result)
			 : "a"(56L /* clone */), "D"(flags), "S"(stack), "d"(0L), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
}

#endif
