/* SPDX-License-Identifier: MIT */
/* Register sets of aarch64. Source: Linux arch/arm64/include/uapi/asm/ptrace.h, user_pt_regs. */
#ifndef ARCH_AARCH64_PTRACE_H
#define ARCH_AARCH64_PTRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/registers.h"

/* 34 words: x0-x30, sp, pc, pstate */
#define ARCH_REGSET_BYTES 272u

static inline void arch_registers_from_regset(
	struct arch_registers *registers, const void *regset)
{
	const uint64_t *word = regset;

	for (unsigned reg = 0; reg < ARCH_DWARF_REGS; reg++)
		registers->r[reg] = word[reg];
}

/*
 * The number of the system call is in no register here. What x0 holds then, between 512 and 516
 * below zero, the kernel shows in no other place; EINTR a program may have there by itself.
 */
static inline bool arch_regset_slept(const void *regset)
{
	int64_t result = *(const int64_t *)regset;

	return result <= -512 && result >= -516;
}

#endif
