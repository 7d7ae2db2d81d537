/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: raw system calls of aarch64: number in x8, arguments in x0..x5. */
#ifndef ARCH_AARCH64_SYSCALL_H
#define ARCH_AARCH64_SYSCALL_H

#include <linux/audit.h>
#include <stdint.h>
#include <string.h>

#include "arch/code.h"

/* Identifies this CPU's system call numbers in seccomp filters. */
#define ARCH_AUDIT AUDIT_ARCH_AARCH64

static inline __attribute__((always_inline)) long arch_syscall6(
	long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

/*
 * Find `mov w8, #n` or `mov x8, #n`. No instruction between this one and the final `svc #0` may
 * write x8; otherwise return ARCH_SYSCALL_NUMBERLESS.
 */
static inline long arch_syscall_before(const uint8_t *code, unsigned bytes)
{
	uint32_t word;

	for (unsigned at = bytes & ~3u; at >= 4; at -= 4) {
		memcpy(&word, code + bytes - (bytes & ~3u) + at - 4, sizeof(word));
		if (at == (bytes & ~3u) && word != 0xd4000001)
			return -1;
		if ((word & 0x7fe0001f) == 0x52800008)
			return word >> 5 & 0xffff;
		if ((word & 0x1f) == 8)
			break;
	}
	return bytes < 4 ? -1 : ARCH_SYSCALL_NUMBERLESS;
}

static inline long arch_spawn_vm(
	unsigned long flags, void *stack_top, void (*entry)(void *), void *argument)
{
	void **stack = (void **)stack_top - 2;

	stack[1] = argument;
	stack[0] = (void *)entry;
	register long x8 __asm__("x8") = 220; /* clone */
	register long x0 __asm__("x0") = (long)flags;
	register long x1 __asm__("x1") = (long)stack;
	register long x2 __asm__("x2") = 0;
	register long x3 __asm__("x3") = 0;
	register long x4 __asm__("x4") = 0;
	/* The child pops its entry function and argument. x29 = x30 = 0 ends stack walks. */
	__asm__ volatile("svc #0\n\t"
			 "cbnz x0, 1f\n\t"
			 "ldp x9, x0, [sp], #16\n\t"
			 "mov x29, xzr\n\t"
			 "mov x30, xzr\n\t"
			 "blr x9\n\t"
			 "brk #1\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "x9", "memory", "cc");
	return x0;
}

#endif
