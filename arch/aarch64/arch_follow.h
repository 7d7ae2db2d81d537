/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: works on what it is given. */
/*
 * Decode aarch64 instructions as far as needed: their effect on stack pointer, frame pointer and
 * next pc.
 * Source of the encodings: Arm Architecture Reference Manual, C4.1 and C6.2.
 */
#ifndef ARCH_AARCH64_FOLLOW_H
#define ARCH_AARCH64_FOLLOW_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "arch/code.h"

#include <arch_epilogue.h>

#define ARCH_SP	       31u
#define ARCH_FP	       29u
#define ARCH_ENTRY_CFA 0u

static inline struct arch_instruction arch_known(enum arch_effect effect, int64_t value)
{
	return (struct arch_instruction){effect, 4, (int32_t)value};
}

static inline bool arch_is(uint32_t instruction, uint32_t mask, uint32_t wanted)
{
	return (instruction & mask) == wanted;
}

/*
 * Decode branches, calls, returns and traps. Encoded distances count from the start of the
 * instruction, but arch_instruction.value counts from its end, so subtract its 4 bytes.
 */
static inline bool arch_decode_branch(uint32_t at, struct arch_instruction *out)
{
	if (arch_is(at, 0xfc000000, 0x94000000))
		*out = arch_known(ARCH_EFFECT_CALL, 4 * arch_signed_field(at, 0, 26) - 4);
	else if (arch_is(at, 0xfc000000, 0x14000000))
		*out = arch_known(ARCH_EFFECT_JUMP, 4 * arch_signed_field(at, 0, 26) - 4);
	else if (arch_is(at, 0xff000000, 0x54000000) || arch_is(at, 0x7e000000, 0x34000000))
		*out = arch_known(ARCH_EFFECT_BRANCH, 4 * arch_signed_field(at, 5, 19) - 4);
	else if (arch_is(at, 0x7e000000, 0x36000000))
		*out = arch_known(ARCH_EFFECT_BRANCH, 4 * arch_signed_field(at, 5, 14) - 4);
	else if (arch_is(at, 0xfffffc1f, 0xd63f0000) || arch_is(at, 0xfefff800, 0xd63f0800))
		*out = arch_known(ARCH_EFFECT_CALL_INDIRECT, 0);
	else if (arch_is(at, 0xfffffc1f, 0xd61f0000) || arch_is(at, 0xfefff800, 0xd61f0800))
		*out = arch_known(ARCH_EFFECT_JUMP_INDIRECT, 0);
	else if (arch_is_return(at))
		*out = arch_known(ARCH_EFFECT_RETURN, 0);
	else if (arch_is(at, 0xffe0001f, 0xd4200000) || arch_is(at, 0xffff0000, 0))
		*out = arch_known(ARCH_EFFECT_STOP, 0); /* brk, udf */
	else
		return false;
	return true;
}

/* Decode arithmetic whose result is sp or the frame pointer. */
static inline bool arch_decode_arithmetic(uint32_t at, struct arch_instruction *out)
{
	unsigned to = at & 31, from = at >> 5 & 31;
	bool is_add = arch_is(at, 0xff800000, 0x91000000);
	bool is_sum = is_add || arch_is(at, 0xff800000, 0xd1000000);
	int64_t value = (int64_t)(at >> 10 & 0xfff) << (at & 1u << 22 ? 12 : 0);
	/* Register number 31 means sp only in certain sums, bit masks and SVE's sums. */
	bool is_sp = to == ARCH_SP && (is_sum || arch_is(at, 0x3fe00000, 0x0b200000) ||
					      arch_is(at, 0x7f800000, 0x12000000) ||
					      arch_is(at, 0x7f800000, 0x32000000) ||
					      arch_is(at, 0x7f800000, 0x52000000) ||
					      arch_is(at, 0xffa0f800, 0x04205000) ||
					      arch_is(at, 0xbf800000, 0x91800000));
	bool is_fp = to == ARCH_FP &&
		     (arch_is(at, 0x1c000000, 0x10000000) || arch_is(at, 0x0e000000, 0x0a000000));

	value = is_add ? value : -value;
	if (is_sp && is_sum && from == ARCH_SP)
		*out = arch_known(ARCH_EFFECT_SP, value);
	else if (is_sp && is_sum && from == ARCH_FP)
		*out = arch_known(ARCH_EFFECT_SP_FROM_FP, value);
	else if (is_fp && is_sum && from == ARCH_SP)
		*out = arch_known(ARCH_EFFECT_FP_FROM_SP, value);
	else if (is_sp || is_fp)
		*out = arch_known(is_sp ? ARCH_EFFECT_UNKNOWN : ARCH_EFFECT_CLOBBER_FP, 0);
	else
		return false;
	return true;
}

/* Decode loads and stores of a pair of registers, and of one register with an unscaled offset. */
static inline bool arch_decode_memory(uint32_t at, struct arch_instruction *out)
{
	bool is_pair = arch_is(at, 0x3a000000, 0x28000000);
	bool is_one = arch_is(at, 0x3b200000, 0x38000000);
	/* 1: the address register changes after the access (post-indexed); 3: before it */
	unsigned mode = is_pair ? at >> 23 & 3 : at >> 10 & 3;
	bool is_load = is_pair ? at & 1u << 22 : at & 3u << 22, moves = mode == 1 || mode == 3;
	bool has_fp = !(at & 1u << 26) &&
		      ((at & 31) == ARCH_FP || (is_pair && (at >> 10 & 31) == ARCH_FP));
	unsigned size = at >> 30;
	int64_t value = is_pair ? arch_signed_field(at, 15, 7) : arch_signed_field(at, 12, 9);

	if (is_pair)
		value *= at & 1u << 26 ? 4 << size : size == 2 ? 8 : size == 1 && !is_load ? 16 : 4;
	if (!is_pair && !is_one) {
		/* Other forms: vectors, tags, and loads with a scaled offset. */
		if ((at >> 5 & 31) == ARCH_SP &&
			(arch_is(at, 0xbe800000, 0x0c800000) ||
				(arch_is(at, 0xff200000, 0xd9200000) && at & 0x400)))
			*out = arch_known(ARCH_EFFECT_UNKNOWN, 0);
		else if (arch_is(at, 0x3f400000, 0x39400000) && (at & 31) == ARCH_FP)
			*out = arch_known(ARCH_EFFECT_LOAD_FP, 8 * (int64_t)(at >> 10 & 0xfff));
		else
			return false;
		return true;
	}
	if ((at >> 5 & 31) != ARCH_SP) {
		*out = arch_known(has_fp && is_load ? ARCH_EFFECT_CLOBBER_FP : ARCH_EFFECT_NONE, 0);
		return true;
	}
	if (has_fp && moves)
		*out = arch_known(is_load ? ARCH_EFFECT_POP_FP : ARCH_EFFECT_PUSH_FP, value);
	else if (has_fp)
		*out = arch_known(is_load ? ARCH_EFFECT_LOAD_FP : ARCH_EFFECT_SAVE_FP, value);
	else
		*out = arch_known(moves ? ARCH_EFFECT_SP : ARCH_EFFECT_NONE, moves ? value : 0);
	return true;
}

static inline struct arch_instruction arch_decode(const uint8_t *from, unsigned room)
{
	struct arch_instruction out = arch_known(ARCH_EFFECT_NONE, 0);
	uint32_t at;

	if (room < 4)
		return (struct arch_instruction){ARCH_EFFECT_UNKNOWN, 0, 0};
	at = (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
	     (uint32_t)from[3] << 24;
	if (at == 0xd503201f)
		return arch_known(ARCH_EFFECT_NOP, 0);
	if (!arch_decode_branch(at, &out) && !arch_decode_arithmetic(at, &out))
		arch_decode_memory(at, &out);
	return out;
}

#define ARCH_CALL_BYTES 4u
#define ARCH_CALL_STEP	4u

/* bl distance			1001 01.. */
static inline uintptr_t arch_called(const uint8_t *code, uintptr_t address)
{
	uint32_t word;

	memcpy(&word, code, sizeof(word));
	if (word >> 26 != 0x25)
		return 0;
	return address + (uintptr_t)(((intptr_t)((uint64_t)word << 38) >> 38) * 4);
}

static inline bool arch_follows_call(const struct arch_text *source, uintptr_t pc)
{
	struct arch_instruction instruction;
	uint8_t code[4];

	if (pc < 4 || (pc & 3) || arch_text_read(source, pc - 4, code, 4) < 4)
		return false;
	instruction = arch_decode(code, 4);
	return instruction.effect == ARCH_EFFECT_CALL ||
	       instruction.effect == ARCH_EFFECT_CALL_INDIRECT;
}

#define ARCH_FOLLOW_INSTRUCTIONS 1000u

/* May @instruction, which arch_decode() does not know, write x29 or x30? */
static inline bool arch_writes_frame(uint32_t instruction)
{
	bool is_pair = arch_is(instruction, 0x3a000000, 0x28000000);
	unsigned first = instruction & 31, second = is_pair ? instruction >> 10 & 31 : 0;

	return first == 29 || first == 30 || second == 29 || second == 30;
}

/*
 * Follow the code from @pc to the return: straight ahead and through unconditional jumps. Give up
 * at an instruction that may write the frame pointer or the return address without loading it from
 * the stack. A call also writes the return address, so only code after a function's last call can
 * be followed.
 */
static inline int arch_follow_code(
	const struct arch_text *source, uintptr_t pc, struct arch_epilogue *epilogue)
{
	struct arch_scan out = {.fp = -1, .ra = -1};

	for (unsigned left = ARCH_FOLLOW_INSTRUCTIONS; left; left--) {
		struct arch_instruction instruction;
		struct arch_code code;

		if (arch_text_read(source, pc, code.bytes, 4) < 4)
			return -ENOENT;
		code.end = 4;
		pc += 4;
		if (arch_follow(&out, arch_instruction(&code, 0)))
			continue;
		instruction = arch_decode(code.bytes, 4);
		if (instruction.effect == ARCH_EFFECT_RETURN)
			return arch_epilogue_of(&out, epilogue);
		if (instruction.effect == ARCH_EFFECT_JUMP)
			pc += (uintptr_t)(intptr_t)instruction.value;
		else if (instruction.effect != ARCH_EFFECT_BRANCH &&
			 instruction.effect != ARCH_EFFECT_NOP &&
			 (instruction.effect != ARCH_EFFECT_NONE ||
				 arch_writes_frame(arch_instruction(&code, 0))))
			return -ENOENT;
	}
	return -ENOENT;
}

#endif
