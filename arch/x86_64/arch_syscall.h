/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: raw system calls of x86_64. Source: System V AMD64 ABI, appendix A.2. */
#ifndef ARCH_X86_64_SYSCALL_H
#define ARCH_X86_64_SYSCALL_H

#include <linux/audit.h>
#include <stdbool.h>
#include <stdint.h>

#include "arch/code.h"

/* Identifies this CPU's system call numbers in seccomp filters. */
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

/*
 * Compilers load the number by `mov $n, %eax` or, for read(2), by `xor %eax, %eax`. If several
 * calls share a number, they load it by `mov $n, %reg` and `mov %reg, %eax`. Use the one nearest to
 * the system call. Code is searched backwards, so bytes may be misread. If an instruction in
 * between may set eax or makes a call, the number is unknown.
 */
static inline long arch_syscall_before(const uint8_t *code, unsigned bytes)
{
	unsigned reg = 0; /* register that holds the call's number (0: eax) */

	if (bytes < 2 || code[bytes - 2] != 0x0f || code[bytes - 1] != 0x05)
		return -1;
	for (unsigned at = bytes - 2; at-- > 1;) {
		const uint8_t *op = code + at;
		unsigned rex = (op[-1] & 0xf0) == 0x40 ? op[-1] : 0;

		if (op[0] == (0xb8 | (reg & 7)) && at + 7 <= bytes && op[2] < 4 && !op[3] && !op[4])
			/* The apparent REX prefix may belong to the previous instruction. */
			return (rex & 1) == reg >> 3 ? op[1] | op[2] << 8 : ARCH_SYSCALL_NUMBERLESS;
		if (op[0] == 0x0f && op[1] == 0x05)
			break;
		if (reg || rex & 1)
			continue;
		if (op[0] == 0x31 && op[1] == 0xc0)
			return 0;
		if (op[0] == 0xc7 && op[1] == 0xc0 && at + 8 <= bytes && op[3] < 4 && !op[4] &&
			!op[5])
			return op[2] | op[3] << 8;
		if (op[0] == 0x89 && (op[1] & 0xc7) == 0xc0)
			reg = (op[1] >> 3 & 7) | (rex & 4) << 1;
		else if ((op[0] == 0x8b && !(op[1] & 0x38)) || op[0] == 0xb0)
			break;
	}
	return ARCH_SYSCALL_NUMBERLESS;
}

static inline long arch_spawn_vm(
	unsigned long flags, void *stack_top, void (*entry)(void *), void *argument)
{
	long result;
	void **stack = (void **)stack_top - 2;

	stack[1] = argument;
	stack[0] = (void *)entry;
	/*
	 * The child pops its entry function and argument off the new stack. After that the stack
	 * pointer is stack_top, 16-byte aligned before the call. rbp = 0 ends walks by frame
	 * pointer.
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
