/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: registers and one raw system call. */
/*
 * Registers and stack at the first instruction of an x86_64 signal handler. Source: Linux
 * arch/x86/kernel/signal_64.c, x64_setup_rt_frame():
 *
 *	rsp -> return address, ucontext, siginfo
 *	rdi signal   rsi siginfo   rdx ucontext   rax 0
 */
#ifndef ARCH_X86_64_HANDLER_H
#define ARCH_X86_64_HANDLER_H

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "arch/registers.h"

/* rax 0, rdx 1, rsi 4, rdi 5, rsp, pc */
#define ARCH_HANDLER_SETS                                                        \
	(1ULL << 0 | 1ULL << 1 | 1ULL << 4 | 1ULL << 5 | 1ULL << ARCH_DWARF_SP | \
		1ULL << ARCH_DWARF_PC)

static inline uintptr_t arch_handler_ucontext(const struct arch_registers *registers)
{
	uintptr_t ucontext = registers->r[ARCH_DWARF_SP] + 8;

	return registers->r[1] == ucontext && registers->r[4] > ucontext && !registers->r[0]
		       ? ucontext
		       : 0;
}

/*
 * The syscall instruction has two bytes and stores the address of the next instruction in rcx. If
 * rcx is two bytes after the pc, the pc is at a syscall instruction that was already executed, so
 * the call will be made again.
 */
#define ARCH_SYSCALL_BYTES 2

static inline long arch_handler_repeats(const void *ucontext, uint64_t *second)
{
	uint64_t pc = arch_ucontext_get(ucontext, ARCH_DWARF_PC);

	*second = arch_ucontext_get(ucontext, 4);
	return arch_ucontext_get(ucontext, 2) == pc + ARCH_SYSCALL_BYTES
		       ? (long)arch_ucontext_get(ucontext, 0)
		       : -1;
}

static inline uint64_t arch_syscall_register0(long number, uint64_t first)
{
	(void)first;
	return (uint64_t)number;
}

#define ARCH_UNBLOCK_UCONTEXT 3 /* rbx */

static inline __attribute__((always_inline)) void arch_handler_unblock(
	const uint64_t *set, const void *ucontext)
{
	long result = SYS_rt_sigprocmask;
	register long r10 __asm__("r10") = sizeof(*set);

	__asm__ volatile("syscall\n\t"
			 ".globl arch_handler_unblocked\n\t"
			 ".hidden arch_handler_unblocked\n"
			 "arch_handler_unblocked:"
			 : "+a"(result)
			 : "D"((long)SIG_UNBLOCK), "S"(set), "d"(0L), "r"(r10), "b"(ucontext)
			 : "rcx", "r11", "memory", "cc");
}

#endif
