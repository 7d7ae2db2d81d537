/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: works on the bytes it is given. */
/*
 * Decode epilogues of aarch64, and the first instructions of a function, at which the return
 * address is still in x30. CPython's trampolines (Python/asm_trampoline.S) look like this:
 *
 *	a9bf7bfd	stp	x29, x30, [sp, #-16]!
 *	910003fd	mov	x29, sp
 *	d63f0060	blr	x3
 *	a8c17bfd	ldp	x29, x30, [sp], #16
 *	d65f03c0	ret
 *
 * Source of the encodings: Arm Architecture Reference Manual, C6.2.
 */
#ifndef ARCH_AARCH64_EPILOGUE_H
#define ARCH_AARCH64_EPILOGUE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "arch/code.h"

#define ARCH_CODE_BEFORE 4u

#define ARCH_MOV_FP_SP 0x910003fdu

struct arch_scan {
	int64_t sp; /* offset from the stack pointer at the pc */
	/* offsets from which the caller's fp and return address were loaded; -1: not loaded */
	int64_t fp, ra;
	bool others;
};

/* Return the instruction at offset @at, or 0 (which is no valid instruction) if it is cut off. */
static inline uint32_t arch_instruction(const struct arch_code *code, unsigned at)
{
	const uint8_t *from = code->bytes + at;

	if (at > code->end || code->end - at < 4)
		return 0;
	return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
	       (uint32_t)from[3] << 24;
}

/* Return the signed field of @bits bits at bit @shift. */
static inline int64_t arch_signed_field(uint32_t instruction, unsigned shift, unsigned bits)
{
	return (int32_t)(instruction << (32 - shift - bits)) >> (32 - bits);
}

static inline void arch_loaded(struct arch_scan *out, uint32_t reg, int64_t from)
{
	if (reg == 29)
		out->fp = from;
	else if (reg == 30)
		out->ra = from;
	else
		out->others = true;
}

/* Apply a load of one or two registers from the stack. The load may also add to sp afterwards. */
static inline bool arch_follow_load(struct arch_scan *out, uint32_t instruction)
{
	bool pair_moves = (instruction & 0xffc003e0) == 0xa8c003e0;
	bool pair = pair_moves || (instruction & 0xffc003e0) == 0xa94003e0;
	bool one_moves = (instruction & 0xffe00fe0) == 0xf84007e0;
	bool one = one_moves || (instruction & 0xffc003e0) == 0xf94003e0;
	int64_t bytes, from = out->sp;

	if (!pair && !one)
		return false;
	if (pair)
		bytes = 8 * arch_signed_field(instruction, 15, 7);
	else
		bytes = one_moves ? arch_signed_field(instruction, 12, 9)
				  : 8 * (int64_t)(instruction >> 10 & 0xfff);
	if (bytes < 0)
		return false;
	if (pair_moves || one_moves)
		out->sp += bytes;
	else
		from += bytes;
	arch_loaded(out, instruction & 31, from);
	if (pair)
		arch_loaded(out, instruction >> 10 & 31, from + 8);
	return true;
}

static inline bool arch_follow(struct arch_scan *out, uint32_t instruction)
{
	switch (instruction) {
	case 0xd503245f: /* bti c */
	case 0xd50323bf: /* autiasp */
	case 0xd50323ff: /* autibsp */
		return true;
	}
	if ((instruction & 0xff8003ff) == 0x910003ff) { /* add sp, sp, #x */
		out->sp += (int64_t)(instruction >> 10 & 0xfff)
			   << (instruction & 1u << 22 ? 12 : 0);
		return true;
	}
	return arch_follow_load(out, instruction);
}

/* ret, retaa, retab */
static inline bool arch_is_return(uint32_t instruction)
{
	return instruction == 0xd65f03c0 || instruction == 0xd65f0bff || instruction == 0xd65f0fff;
}

/* Return n of `stp x29, x30, [sp, #-n]!`, or 0 for another instruction. */
static inline int64_t arch_pushed_bytes(uint32_t instruction)
{
	int64_t bytes = -8 * arch_signed_field(instruction, 15, 7);

	return (instruction & 0xffc07fff) == 0xa9807bfd && bytes > 0 ? bytes : 0;
}

/* Is the pc at a function's entry, before the function has saved registers or changed x29? */
static inline bool arch_at_entry(const struct arch_code *code, struct arch_scan *out)
{
	uint32_t now = arch_instruction(code, code->at);

	*out = (struct arch_scan){.fp = -1, .ra = -1};
	switch (now) {
	case 0xd503245f: /* bti c */
	case 0xd503233f: /* paciasp */
	case 0xd503237f: /* pacibsp */
		return true;
	}
	if (arch_pushed_bytes(now))
		return true;
	if (now != ARCH_MOV_FP_SP || code->at < 4)
		return false;
	out->sp = arch_pushed_bytes(arch_instruction(code, code->at - 4));
	out->fp = 0;
	out->ra = 8;
	return out->sp > 0;
}

/* Always false: unlike on x86_64, no trap marks the outermost code. */
static inline bool arch_is_outermost(const struct arch_code *code)
{
	(void)code;
	return false;
}

static inline int arch_epilogue_of(const struct arch_scan *out, struct arch_epilogue *epilogue)
{
	if (out->sp > INT32_MAX || (out->sp & 15) || out->fp >= out->sp || out->ra >= out->sp)
		return -ENOENT;
	epilogue->cfa = (uint32_t)out->sp;
	epilogue->ra = out->ra < 0 ? 0 : (uint32_t)(out->sp - out->ra);
	epilogue->fp = out->fp < 0 ? 0 : (uint32_t)(out->sp - out->fp);
	epilogue->others = out->others;
	return 0;
}

static inline int arch_find_epilogue(const struct arch_code *code, struct arch_epilogue *epilogue)
{
	struct arch_scan out = {.fp = -1, .ra = -1};
	unsigned at = code->at;

	while (arch_follow(&out, arch_instruction(code, at)))
		at += 4;
	if (!arch_is_return(arch_instruction(code, at)) &&
		(!code->exact || !arch_at_entry(code, &out)))
		return -ENOENT;
	return arch_epilogue_of(&out, epilogue);
}

#endif
