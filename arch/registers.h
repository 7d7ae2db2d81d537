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
 * arch_registers_from_ucontext(struct arch_registers *, const void *ucontext)
 *                      Context: signal-safe.
 * arch_strip_pointer(uintptr_t) -> uintptr_t
 *                      a code address without authentication or tag bits. Context: signal-safe.
 */
#if !defined(ARCH_DWARF_REGS) || !defined(ARCH_DWARF_PC) || !defined(ARCH_DWARF_SP) || \
	!defined(ARCH_DWARF_FP) || !defined(ARCH_DWARF_RA)
#error "arch_registers.h lacks a primitive"
#endif

#endif
