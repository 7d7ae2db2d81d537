/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: plain loads and stores only. */
/*
 * Registers of aarch64. Sources: "DWARF for the Arm 64-bit Architecture" (register numbers); Linux
 * arch/arm64/include/uapi/asm/{ucontext,sigcontext}.h (layout of the ucontext).
 */
#ifndef ARCH_AARCH64_REGISTERS_H
#define ARCH_AARCH64_REGISTERS_H

#include <stdint.h>

/*
 * Register numbers: x0-x30 are 0-30, sp is 31. Here 32 is the pc; DWARF's 32 is ELR_mode, which
 * user code never uses.
 */
#define ARCH_DWARF_REGS 33
#define ARCH_DWARF_FP   29
#define ARCH_DWARF_RA   30
#define ARCH_DWARF_SP   31
#define ARCH_DWARF_PC   32

/* In code of GHC, x20 is the stack pointer of a Haskell thread. */
#define ARCH_DWARF_HASKELL_SP 20

/* PHP's interpreter always holds the current frame and instruction in these registers. */
#define ARCH_DWARF_PHP_FRAME	   27
#define ARCH_DWARF_PHP_INSTRUCTION 28

/* A call instruction overwrites only the link register. */
#define ARCH_CALL_KEEPS (~(1ULL << ARCH_DWARF_RA))

/* Number of registers with unwind rules: those that a function must preserve (x19-x30), and sp. */
#define ARCH_CFI_SLOTS 13

#define ARCH_STACK_ALIGN 16u

struct arch_registers {
	uintptr_t r[ARCH_DWARF_REGS];
};

static inline unsigned arch_cfi_slot(unsigned reg)
{
	return reg - 19;
}

static inline unsigned arch_cfi_reg(unsigned slot)
{
	return slot + 19;
}

/*
 * The code at a signal handler's return address. Before it, the stack pointer points to siginfo
 * (128 bytes), then ucontext:
 *	d2801168	mov	x8, #0x8b	(__NR_rt_sigreturn)
 *	d4000001	svc	#0x0
 */
#define ARCH_SIGRETURN_WORD     0xd4000001d2801168ULL
#define ARCH_SIGRETURN_UCONTEXT 128

/*
 * ucontext:  +0 uc_flags  +8 uc_link  +16 uc_stack (24 bytes)  +40 uc_sigmask (128 bytes)
 * +176 fault_address  +184 x0 .. x30 sp pc, eight bytes each
 */
static inline unsigned arch_ucontext_offset(unsigned reg)
{
	return 184 + 8 * reg;
}

/* x0-x30, sp, pc. Source: asm/perf_regs.h */
#define ARCH_PERF_REGS 0x1ffffffffULL

static inline void arch_registers_from_perf(
	struct arch_registers *registers, const uint64_t *words)
{
	for (unsigned reg = 0; reg < ARCH_DWARF_REGS; reg++)
		registers->r[reg] = words[reg];
}

/*
 * Keep the 48 bits of a user address; the bits above hold authentication codes and tags. (Only
 * mappings that a program requests so have 52 bits, and code is never in them.)
 */
static inline uintptr_t arch_strip_pointer(uintptr_t address)
{
	return address & 0xffffffffffffULL;
}

#endif
