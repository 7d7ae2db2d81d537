/* SPDX-License-Identifier: MIT */
/*
 * The CPU's registers, as the unwinder and the sampler need them. Selected by include path:
 * arch/<cpu>/arch_registers.h defines all names below; a missing one is an #error.
 */
#ifndef ARCH_REGISTERS_H
#define ARCH_REGISTERS_H

#include <stddef.h>
#include <stdint.h>

#include <arch_registers.h>

/*
 * ARCH_DWARF_REGS      number of DWARF registers that the unwinder tracks (0 .. n-1)
 * ARCH_DWARF_PC, _SP, _FP, _RA
 *                      DWARF numbers of the pc (a pseudo-register), the stack pointer, the frame
 *                      pointer, and the return address column in CIEs
 * struct arch_registers { uintptr_t r[ARCH_DWARF_REGS]; }
 *                      register values by DWARF number; r[ARCH_DWARF_PC] is the pc
 * ARCH_CALL_KEEPS      bit n set: the call instruction itself does not overwrite register n
 * ARCH_STACK_ALIGN     alignment of the stack pointer at a call, in bytes
 * ARCH_CFI_SLOTS       number of registers for which a row of call-frame information has a rule
 * arch_cfi_slot(unsigned reg) -> unsigned, arch_cfi_reg(unsigned slot) -> unsigned
 *                      Convert a register number to its slot and back. Without a slot the result
 *                      is >= ARCH_CFI_SLOTS. Context: signal-safe.
 * arch_ucontext_offset(unsigned reg) -> unsigned
 *                      Return the offset of register @reg in the kernel's ucontext, in bytes.
 *                      Context: signal-safe.
 * ARCH_SIGRETURN_WORD  the first eight bytes of code at a signal handler's return address
 * ARCH_SIGRETURN_UCONTEXT
 *                      bytes from the stack pointer at that code up to the ucontext
 * ARCH_PERF_REGS, arch_registers_from_perf(struct arch_registers *, const uint64_t *)
 *                      bits of the registers to request in a perf event (sample_regs_user); convert
 *                      those registers
 * arch_strip_pointer(uintptr_t) -> uintptr_t
 *                      Remove authentication and tag bits from a code address.
 *                      Context: signal-safe.
 */
#if !defined(ARCH_DWARF_REGS) || !defined(ARCH_DWARF_PC) || !defined(ARCH_DWARF_SP) || \
	!defined(ARCH_DWARF_FP) || !defined(ARCH_DWARF_RA) || !defined(ARCH_CALL_KEEPS) || \
	!defined(ARCH_CFI_SLOTS) || !defined(ARCH_STACK_ALIGN) || !defined(ARCH_SIGRETURN_WORD) || \
	!defined(ARCH_SIGRETURN_UCONTEXT) || !defined(ARCH_PERF_REGS)
#error "arch_registers.h lacks a primitive"
#endif

/* Return register @reg of the kernel's @ucontext. Context: signal-safe. */
static inline uint64_t arch_ucontext_get(const void *ucontext, unsigned reg)
{
	return *(const uint64_t *)((const char *)ucontext + arch_ucontext_offset(reg));
}

static inline void arch_ucontext_set(void *ucontext, unsigned reg, uint64_t value)
{
	*(uint64_t *)((char *)ucontext + arch_ucontext_offset(reg)) = value;
}

/* Copy all registers from @ucontext. Context: signal-safe. */
static inline void arch_registers_from_ucontext(
	struct arch_registers *registers, const void *ucontext)
{
	for (unsigned reg = 0; reg < ARCH_DWARF_REGS; reg++)
		registers->r[reg] = arch_ucontext_get(ucontext, reg);
}

#endif
