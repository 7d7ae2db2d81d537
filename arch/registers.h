/* SPDX-License-Identifier: MIT */
/*
 * What the unwinder and the sampler need to know of a CPU's registers. Chosen by include path:
 * arch/<cpu>/arch_registers.h supplies everything named below; a missing piece is an #error.
 */
#ifndef ARCH_REGISTERS_H
#define ARCH_REGISTERS_H

#include <stddef.h>
#include <stdint.h>

#include <arch_registers.h>

/*
 * ARCH_DWARF_REGS      how many DWARF register numbers the unwinder tracks (0 .. n-1)
 * ARCH_DWARF_PC, _SP, _FP, _RA
 *                      DWARF numbers: pc pseudo-register, stack pointer, frame pointer, and the
 *                      column CIEs name as return address
 * struct arch_registers { uintptr_t r[ARCH_DWARF_REGS]; }
 *                      register values by DWARF number; r[ARCH_DWARF_PC] is the pc
 * ARCH_CALL_KEEPS      bit n set: the call instruction itself does not overwrite register n
 * ARCH_STACK_ALIGN     what the stack pointer is a multiple of where a function calls
 * ARCH_CFI_SLOTS       how many registers can have a rule in a row of call-frame information
 * arch_cfi_slot(unsigned reg) -> unsigned, arch_cfi_reg(unsigned slot) -> unsigned
 *                      register number to slot and back; a slot >= ARCH_CFI_SLOTS means that rules
 *                      for this register are not kept. Context: signal-safe.
 * arch_ucontext_offset(unsigned reg) -> unsigned
 *                      where the kernel's ucontext holds register @reg, in bytes.
 *                      Context: signal-safe.
 * ARCH_SIGRETURN_WORD  the eight bytes of code at a signal handler's return address
 * ARCH_SIGRETURN_UCONTEXT
 *                      bytes from the stack pointer at that address up to the ucontext
 * ARCH_PERF_REGS, arch_registers_from_perf(struct arch_registers *, const uint64_t *)
 *                      which registers a perf event is to tell (sample_regs_user), and those
 * arch_strip_pointer(uintptr_t) -> uintptr_t
 *                      a code address without authentication or tag bits. Context: signal-safe.
 */
#if !defined(ARCH_DWARF_REGS) || !defined(ARCH_DWARF_PC) || !defined(ARCH_DWARF_SP) || \
	!defined(ARCH_DWARF_FP) || !defined(ARCH_DWARF_RA) || !defined(ARCH_CALL_KEEPS) || \
	!defined(ARCH_CFI_SLOTS) || !defined(ARCH_STACK_ALIGN) || !defined(ARCH_SIGRETURN_WORD) || \
	!defined(ARCH_SIGRETURN_UCONTEXT) || !defined(ARCH_PERF_REGS)
#error "arch_registers.h lacks a primitive"
#endif

/* Register @reg in the kernel's @ucontext. Context: signal-safe. */
static inline uint64_t arch_ucontext_get(const void *ucontext, unsigned reg)
{
	return *(const uint64_t *)((const char *)ucontext + arch_ucontext_offset(reg));
}

static inline void arch_ucontext_set(void *ucontext, unsigned reg, uint64_t value)
{
	*(uint64_t *)((char *)ucontext + arch_ucontext_offset(reg)) = value;
}

/* All of them. Context: signal-safe. */
static inline void arch_registers_from_ucontext(
	struct arch_registers *registers, const void *ucontext)
{
	for (unsigned reg = 0; reg < ARCH_DWARF_REGS; reg++)
		registers->r[reg] = arch_ucontext_get(ucontext, reg);
}

#endif
