/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: registers and one raw system call. */
/*
 * Registers and stack at the first instruction of an aarch64 signal handler. Source: Linux
 * arch/arm64/kernel/signal.c, setup_return():
 *
 *	sp -> siginfo (128 bytes), ucontext, further records, x29 -> frame record
 *	x0 signal   x1 siginfo, x2 ucontext with SA_SIGINFO only   x30 return address
 */
#ifndef ARCH_AARCH64_HANDLER_H
#define ARCH_AARCH64_HANDLER_H

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "arch/registers.h"

#define ARCH_HANDLER_SETS                                                                    \
	(1ULL << 0 | 1ULL << 1 | 1ULL << 2 | 1ULL << ARCH_DWARF_FP | 1ULL << ARCH_DWARF_RA | \
		1ULL << ARCH_DWARF_SP | 1ULL << ARCH_DWARF_PC)

/* Bounds of the distance from sp to x29: siginfo, ucontext, and vector registers of any length. */
#define ARCH_HANDLER_FRAME_MIN 1024u
#define ARCH_HANDLER_FRAME_MAX (128u << 10)

static inline uintptr_t arch_handler_ucontext(const struct arch_registers *registers)
{
	uintptr_t sp = registers->r[ARCH_DWARF_SP];
	uintptr_t bytes = registers->r[ARCH_DWARF_FP] - sp;

	return registers->r[0] - 1 < 64 && bytes >= ARCH_HANDLER_FRAME_MIN &&
			       bytes <= ARCH_HANDLER_FRAME_MAX
		       ? sp + ARCH_SIGRETURN_UCONTEXT
		       : 0;
}

/* svc #0 */
#define ARCH_SYSCALL       0xd4000001u
#define ARCH_SYSCALL_BYTES 4

static inline long arch_handler_repeats(const void *ucontext, uint64_t *second)
{
	uint64_t pc = arch_ucontext_get(ucontext, ARCH_DWARF_PC);

	*second = arch_ucontext_get(ucontext, 1);
	return *(const uint32_t *)(uintptr_t)pc == ARCH_SYSCALL
		       ? (long)arch_ucontext_get(ucontext, 8)
		       : -1;
}

static inline uint64_t arch_syscall_register0(long number, uint64_t first)
{
	(void)number; /* x8 still holds the number */
	return first;
}

#define ARCH_UNBLOCK_UCONTEXT 19

static inline __attribute__((always_inline)) void arch_handler_unblock(
	const uint64_t *set, const void *ucontext)
{
	register long x0 __asm__("x0") = SIG_UNBLOCK;
	register const uint64_t *x1 __asm__("x1") = set;
	register long x2 __asm__("x2") = 0;
	register long x3 __asm__("x3") = sizeof(*set);
	register long x8 __asm__("x8") = SYS_rt_sigprocmask;
	register const void *x19 __asm__("x19") = ucontext;

	__asm__ volatile("svc #0\n\t"
			 ".globl arch_handler_unblocked\n\t"
			 ".hidden arch_handler_unblocked\n"
			 "arch_handler_unblocked:"
			 : "+r"(x0)
			 : "r"(x1), "r"(x2), "r"(x3), "r"(x8), "r"(x19)
			 : "memory", "cc");
}

#endif
