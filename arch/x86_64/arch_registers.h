/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: plain loads and stores only. */
/*
 * Registers of x86_64. Sources: System V AMD64 ABI, figure 3.36 (DWARF register numbers); Linux
 * arch/x86/include/uapi/asm/sigcontext.h (layout of the ucontext).
 */
#ifndef ARCH_X86_64_REGISTERS_H
#define ARCH_X86_64_REGISTERS_H

#include <stdint.h>

/* DWARF: rax 0, rdx 1, rcx 2, rbx 3, rsi 4, rdi 5, rbp 6, rsp 7, r8-r15 8-15, pc 16 */
#define ARCH_DWARF_REGS 17
#define ARCH_DWARF_FP   6
#define ARCH_DWARF_SP   7
#define ARCH_DWARF_PC   16
#define ARCH_DWARF_RA   16

/* In code of GHC, rbp is the stack pointer of a Haskell thread. */
#define ARCH_DWARF_HASKELL_SP 6

/* PHP's interpreter always holds the current frame and instruction in these registers. */
#define ARCH_DWARF_PHP_FRAME	   14
#define ARCH_DWARF_PHP_INSTRUCTION 15

/* The call instruction changes only the pc and rsp, and unwinding restores both in every frame. */
#define ARCH_CALL_KEEPS (~0ULL)

/* Registers with unwind rules: those that functions must preserve (rbx, rbp, r12-r15), rsp, pc. */
#define ARCH_CFI_SLOTS 8

#define ARCH_STACK_ALIGN 16u

struct arch_registers {
	uintptr_t r[ARCH_DWARF_REGS];
};

/* rbx 0, rbp 1, rsp 2, r12-r15 3-6, return address 7 */
static inline unsigned arch_cfi_slot(unsigned reg)
{
	if (reg >= 12)
		return reg - 9;
	if (reg == 3)
		return 0;
	return reg == 6 || reg == 7 ? reg - 5 : ARCH_CFI_SLOTS;
}

static inline unsigned arch_cfi_reg(unsigned slot)
{
	if (slot >= 3)
		return slot + 9;
	return slot == 0 ? 3 : slot + 5;
}

/*
 * The code at a signal handler's return address. Before it, the stack pointer points to the
 * ucontext:
 *	48 c7 c0 0f 00 00 00	mov    $0xf,%rax	(__NR_rt_sigreturn)
 *	0f 05			syscall
 */
#define ARCH_SIGRETURN_WORD     0x0f0000000fc0c748ULL
#define ARCH_SIGRETURN_UCONTEXT 0

/*
 * ucontext: +0 uc_flags +8 uc_link +16 uc_stack (24 bytes) +40 r8 r9 r10 r11 r12 r13 r14 r15 rdi
 * rsi rbp rbx rdx rax rcx rsp rip, eight bytes each
 */
static inline unsigned arch_ucontext_offset(unsigned reg)
{
	static const uint8_t position[ARCH_DWARF_REGS] = {
		13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7, 16};

	return 40 + 8u * position[reg];
}

/* rax rbx rcx rdx rsi rdi rbp rsp rip, r8-r15. Source: asm/perf_regs.h */
#define ARCH_PERF_REGS 0xff01ffULL

static inline void arch_registers_from_perf(
	struct arch_registers *registers, const uint64_t *words)
{
	static const uint8_t position[ARCH_DWARF_REGS] = {
		0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 8};

	for (unsigned reg = 0; reg < ARCH_DWARF_REGS; reg++)
		registers->r[reg] = words[position[reg]];
}

static inline uintptr_t arch_strip_pointer(uintptr_t address)
{
	return address;
}

#endif
