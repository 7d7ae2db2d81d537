/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: works on what it is given. */
/*
 * Decode x86_64 instructions as far as needed: their length and their effect on stack pointer,
 * frame pointer and next pc. Any other change of the stack pointer is ARCH_EFFECT_UNKNOWN; its
 * value is never guessed.
 *
 * Then follow a path through code to its return. At the return, the caller's frame pointer is in
 * its register again (System V ABI 3.2.1), so the last instruction that loaded the register shows
 * where the frame pointer was saved. Source of the encodings: Intel SDM volume 2, chapters 2 and 5
 * and appendix A.
 */
#ifndef ARCH_X86_64_FOLLOW_H
#define ARCH_X86_64_FOLLOW_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "arch/code.h"

/* The state of decoding one instruction. */
struct arch_decoder {
	const uint8_t *at;
	/*
	 * Number of readable bytes, and index of the next one. `next` is above `room` if the
	 * instruction is cut off.
	 */
	unsigned room, next;
	bool is_short;	  /* prefix 0x66: 16-bit operands */
	bool is_narrow;	  /* prefix 0x67: 32-bit addresses */
	bool is_repeated; /* prefix 0xf3 */
	bool is_wide, has_rex, r, x, b;
	bool is_vector;	 /* has a VEX or EVEX prefix */
	unsigned second; /* the register of its vvvv operand */
	unsigned map, opcode;
	unsigned mod, reg, rm;
	uint8_t sib;
	int32_t displacement;
};

#define ARCH_SP	 4u
#define ARCH_FP	 5u
#define ARCH_R11 11u

static inline unsigned arch_next_byte(struct arch_decoder *d)
{
	return d->next < d->room ? d->at[d->next++] : (d->next = d->room + 1, 0);
}

/* Read a signed number of @bytes bytes. Bytes after the readable ones count as 0. */
static inline int64_t arch_next_signed(struct arch_decoder *d, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)arch_next_byte(d) << 8 * i;
	return bytes ? (int64_t)(value << (64 - 8 * bytes)) >> (64 - 8 * bytes) : 0;
}

static inline void arch_read_vex(struct arch_decoder *d, unsigned prefix)
{
	unsigned first = arch_next_byte(d), last = first;

	d->is_vector = true;
	d->r = !(first & 0x80);
	d->map = 1;
	if (prefix != 0xc5) {
		d->x = !(first & 0x40);
		d->b = !(first & 0x20);
		d->map = first & 0x1f;
		last = arch_next_byte(d);
	}
	d->is_repeated = (last & 3) == 2;
	d->second = ~last >> 3 & 15;
	if (prefix == 0x62) {
		/* In EVEX two bits have fixed values. With other values this is another prefix. */
		if ((first & 8) || !(last & 4))
			d->map = 0;
		d->map &= 7;
		arch_next_byte(d);
	}
	if (!d->map)
		d->map = 31;
	d->opcode = arch_next_byte(d);
}

static inline void arch_read_opcode(struct arch_decoder *d)
{
	unsigned byte = arch_next_byte(d);

	for (;; byte = arch_next_byte(d)) {
		if (byte == 0x66)
			d->is_short = true;
		else if (byte == 0x67)
			d->is_narrow = true;
		else if (byte == 0xf3)
			d->is_repeated = true;
		else if (byte != 0xf2 && byte != 0xf0 && byte != 0x2e && byte != 0x36 &&
			 byte != 0x3e && byte != 0x26 && byte != 0x64 && byte != 0x65)
			break;
	}
	if ((byte & 0xf0) == 0x40) {
		d->has_rex = true;
		d->is_wide = byte & 8;
		d->r = byte & 4;
		d->x = byte & 2;
		d->b = byte & 1;
		byte = arch_next_byte(d);
	}
	if (byte == 0xc4 || byte == 0xc5 || byte == 0x62) {
		arch_read_vex(d, byte);
		return;
	}
	if (byte == 0x0f) {
		byte = arch_next_byte(d);
		d->map = byte == 0x38 ? 2 : byte == 0x3a ? 3 : 1;
		if (d->map > 1)
			byte = arch_next_byte(d);
	}
	d->opcode = byte;
}

/* Is @opcode in one of the @count ranges, each of a first and a last opcode? */
static inline bool arch_is_in(const uint8_t (*ranges)[2], unsigned count, unsigned opcode)
{
	for (unsigned i = 0; i < count; i++)
		if (opcode >= ranges[i][0] && opcode <= ranges[i][1])
			return true;
	return false;
}

#define ARCH_IN(opcode, ...)                          \
	arch_is_in((const uint8_t[][2]){__VA_ARGS__}, \
		sizeof((const uint8_t[][2]){__VA_ARGS__}) / 2, opcode)

/* Is the opcode invalid in 64-bit mode, for the kernel only, or too rare to support? */
static inline bool arch_is_unsupported(const struct arch_decoder *d)
{
	switch (d->map) {
	case 0:
		return ARCH_IN(d->opcode, {0x06, 0x07}, {0x0e, 0x0e}, {0x16, 0x17}, {0x1e, 0x1f},
			{0x27, 0x27}, {0x2f, 0x2f}, {0x37, 0x37}, {0x3f, 0x3f}, {0x60, 0x62},
			{0x82, 0x82}, {0x9a, 0x9b}, {0xc4, 0xc5}, {0xc8, 0xc8}, {0xca, 0xcb},
			{0xcd, 0xcf}, {0xd4, 0xd6}, {0xe4, 0xe7}, {0xea, 0xea}, {0xec, 0xf3},
			{0xfa, 0xfb});
	case 1:
		return !d->is_vector &&
		       ARCH_IN(d->opcode, {0x04, 0x04}, {0x07, 0x07}, {0x0a, 0x0a}, {0x0c, 0x0c},
			       {0x0f, 0x0f}, {0x20, 0x27}, {0x34, 0x37}, {0x39, 0x39}, {0x3b, 0x3f},
			       {0x78, 0x79}, {0xa6, 0xa7}, {0xaa, 0xaa}, {0xff, 0xff});
	case 2:
	case 3:
		return false;
	/* Of newer opcode maps, only the instructions for half-precision numbers are supported. */
	default:
		return !d->is_vector || (d->map != 5 && d->map != 6);
	}
}

static inline bool arch_has_modrm(const struct arch_decoder *d)
{
	if (d->map == 1 && d->is_vector)
		return d->opcode != 0x77;
	if (d->map == 1)
		return !ARCH_IN(d->opcode, {0x05, 0x0b}, {0x0e, 0x0e}, {0x30, 0x37}, {0x77, 0x77},
			{0x80, 0x8f}, {0xa0, 0xa2}, {0xa8, 0xaa}, {0xc8, 0xcf});
	if (d->map)
		return true;
	return d->opcode < 0x40 ? (d->opcode & 7) < 4
				: ARCH_IN(d->opcode, {0x63, 0x63}, {0x69, 0x69}, {0x6b, 0x6b},
					  {0x80, 0x8f}, {0xc0, 0xc1}, {0xc6, 0xc7}, {0xd0, 0xd3},
					  {0xd8, 0xdf}, {0xf6, 0xf7}, {0xfe, 0xff});
}

static inline unsigned arch_immediate_bytes(const struct arch_decoder *d)
{
	unsigned whole = d->is_short ? 2 : 4;

	if (d->map == 3)
		return 1;
	if (d->map == 1 && !d->is_vector && ARCH_IN(d->opcode, {0x80, 0x8f}))
		return 4;
	if (d->map == 1)
		return ARCH_IN(d->opcode, {0x70, 0x73}, {0xc2, 0xc2}, {0xc4, 0xc6}) ||
		       (!d->is_vector &&
			       ARCH_IN(d->opcode, {0xa4, 0xa4}, {0xac, 0xac}, {0xba, 0xba}));
	if (d->map)
		return 0;
	if (d->opcode < 0x40)
		return (d->opcode & 7) == 4 ? 1 : (d->opcode & 7) == 5 ? whole : 0;
	if (d->opcode == 0xf6 || d->opcode == 0xf7)
		return d->reg > 1 ? 0 : d->opcode == 0xf6 ? 1 : whole;
	if (ARCH_IN(d->opcode, {0xb8, 0xbf}))
		return d->is_wide ? 8 : whole;
	if (ARCH_IN(d->opcode, {0xa0, 0xa3}))
		return d->is_narrow ? 4 : 8;
	if (d->opcode == 0xe8 || d->opcode == 0xe9)
		return 4;
	if (ARCH_IN(d->opcode, {0x68, 0x69}, {0x81, 0x81}, {0xa9, 0xa9}, {0xc7, 0xc7}))
		return whole;
	if (d->opcode == 0xc2)
		return 2;
	return ARCH_IN(d->opcode, {0x6a, 0x6b}, {0x70, 0x80}, {0x83, 0x83}, {0xa8, 0xa8},
		{0xb0, 0xb7}, {0xc0, 0xc1}, {0xc6, 0xc6}, {0xe0, 0xe3}, {0xeb, 0xeb});
}

static inline void arch_read_modrm(struct arch_decoder *d)
{
	unsigned byte = arch_next_byte(d), bytes = 0;

	d->mod = byte >> 6;
	d->reg = byte >> 3 & 7;
	d->rm = byte & 7;
	if (d->mod != 3 && d->rm == 4)
		d->sib = (uint8_t)arch_next_byte(d);
	if (d->mod == 2 || (!d->mod && (d->rm == 5 || (d->rm == 4 && (d->sib & 7) == 5))))
		bytes = 4;
	else if (d->mod == 1)
		bytes = 1;
	d->displacement = (int32_t)arch_next_signed(d, bytes);
}

/* May the instruction write the register in its `reg` field? */
static inline bool arch_writes_reg(const struct arch_decoder *d)
{
	if (d->is_vector)
		return d->map == 1 ? ARCH_IN(d->opcode, {0x2c, 0x2d}, {0x50, 0x50}, {0x78, 0x79},
					     {0x93, 0x93}, {0xc5, 0xc5}, {0xd7, 0xd7})
				   : d->map > 3 || d->opcode >= 0xf0;
	switch (d->map) {
	case 0:
		return d->opcode < 0x38
			       ? (d->opcode & 7) < 4 && d->opcode & 2
			       : ARCH_IN(d->opcode, {0x63, 0x63}, {0x69, 0x69}, {0x6b, 0x6b},
					 {0x86, 0x87}, {0x8a, 0x8b}, {0x8d, 0x8d});
	case 1:
		return ARCH_IN(d->opcode, {0x02, 0x03}, {0x2c, 0x2d}, {0x40, 0x50}, {0xaf, 0xaf},
			{0xb2, 0xb2}, {0xb4, 0xb8}, {0xbc, 0xc1}, {0xc5, 0xc5}, {0xd7, 0xd7});
	default:
		return d->map == 2 && d->opcode >= 0xf0;
	}
}

/* May the instruction write the register in its `rm` field? */
static inline bool arch_writes_rm(const struct arch_decoder *d)
{
	switch (d->map) {
	case 0:
		return d->opcode < 0x38
			       ? (d->opcode & 7) < 2
			       : (ARCH_IN(d->opcode, {0x80, 0x83}) && d->reg != 7) ||
					 ARCH_IN(d->opcode, {0x86, 0x89}, {0x8c, 0x8c},
						 {0x8f, 0x8f}, {0xc0, 0xc1}, {0xc6, 0xc7},
						 {0xd0, 0xd3}, {0xfe, 0xfe}) ||
					 (ARCH_IN(d->opcode, {0xf6, 0xf7}) && d->reg / 2 == 1) ||
					 (d->opcode == 0xff && d->reg < 2);
	case 1:
		if (d->opcode == 0x7e)
			return !d->is_repeated;
		return !d->is_vector &&
		       ARCH_IN(d->opcode, {0x90, 0x9f}, {0xa4, 0xa5}, {0xab, 0xad}, {0xb0, 0xb1},
			       {0xb3, 0xb3}, {0xba, 0xbb}, {0xc0, 0xc1}, {0xc7, 0xc7});
	case 3:
		return ARCH_IN(d->opcode, {0x14, 0x17});
	default:
		return false;
	}
}

/*
 * Does the instruction have byte registers and no REX prefix? In that case register numbers 4 to 7
 * mean ah, ch, dh and bh instead of spl, bpl, sil and dil.
 */
static inline bool arch_has_high_bytes(const struct arch_decoder *d)
{
	if (d->has_rex || d->is_vector || d->map > 1)
		return false;
	if (d->map)
		return ARCH_IN(d->opcode, {0x90, 0x9f}, {0xb0, 0xb0}, {0xc0, 0xc0});
	return d->opcode < 0x40 ? !(d->opcode & 1)
				: ARCH_IN(d->opcode, {0x80, 0x80}, {0x86, 0x86}, {0x88, 0x88},
					  {0x8a, 0x8a}, {0xb0, 0xb7}, {0xc0, 0xc0}, {0xc6, 0xc6},
					  {0xd0, 0xd0}, {0xd2, 0xd2}, {0xf6, 0xf6}, {0xfe, 0xfe});
}

/* May the instruction write register number @wanted, which is 4 to 7? */
static inline bool arch_writes(const struct arch_decoder *d, unsigned wanted)
{
	bool is_swap = !d->is_vector && d->map == 1 && ARCH_IN(d->opcode, {0xc8, 0xcf});

	if (arch_has_high_bytes(d))
		return false;
	if (is_swap || (!d->map && ARCH_IN(d->opcode, {0x90, 0x97}, {0xb0, 0xbf})))
		return (d->opcode & 7) == wanted && !d->b;
	if (d->is_vector && d->map == 2 && d->opcode >= 0xf0 && d->second == wanted)
		return true;
	return (arch_writes_reg(d) && d->reg == wanted && !d->r) ||
	       (arch_writes_rm(d) && d->mod == 3 && d->rm == wanted && !d->b);
}

/* Is the memory operand x(%rsp)? */
static inline bool arch_is_above_sp(const struct arch_decoder *d)
{
	return d->mod != 3 && d->rm == 4 && d->sib == 0x24 && !d->x && !d->b;
}

/* `add $x,%rsp` or `sub $x,%rsp` */
static inline bool arch_is_adjustment(const struct arch_decoder *d)
{
	return !d->map && (d->opcode == 0x81 || d->opcode == 0x83) && d->is_wide && d->mod == 3 &&
	       d->rm == ARCH_SP && !d->b && (d->reg == 0 || d->reg == 5);
}

/*
 * Decode instructions that compute rsp from rbp or rbp from rsp, and those of the stack probe loops
 * of gcc and clang, which keep the loop's end in r11 ("mark"):
 *
 *	lea  -x(%rsp),%r11		mov  %rsp,%r11; sub $x,%r11
 *	sub  $0x1000,%rsp		the loop ends when %rsp equals %r11
 *	cmp  %r11,%rsp
 *	jne
 */
static inline enum arch_effect arch_frame_effect(
	const struct arch_decoder *d, int64_t immediate, int32_t *value)
{
	bool is_direct = d->mod == 3,
	     is_from_fp = d->mod && !is_direct && d->rm == ARCH_FP && !d->b;
	bool is_from_sp = arch_is_above_sp(d);
	/*
	 * `mov` between registers has two opcodes, 0x89 and 0x8b, with source and destination
	 * exchanged.
	 */
	bool is_load = d->opcode == 0x8b, is_move = (is_load || d->opcode == 0x89) && is_direct;
	unsigned reg = d->reg + 8 * d->r, rm = d->rm + 8 * d->b;
	unsigned to = is_load || !is_direct ? reg : rm, from = is_load ? rm : reg;

	if (d->map || d->is_vector || !d->is_wide)
		return ARCH_EFFECT_UNKNOWN;
	if ((d->opcode == 0x81 || d->opcode == 0x83) && is_direct) {
		*value = (int32_t)immediate;
		/* `and` with a negative power of two */
		if (d->reg == 4 && rm == ARCH_SP && immediate < 0 &&
			!(-immediate & (-immediate - 1))) {
			*value = (int32_t)-immediate;
			return ARCH_EFFECT_ALIGN;
		}
		if (rm == ARCH_R11 && (d->reg == 0 || d->reg == 5)) {
			*value = (int32_t)(d->reg ? -immediate : immediate);
			return ARCH_EFFECT_MOVE_MARK;
		}
	}
	if ((d->opcode == 0x39 || d->opcode == 0x3b) && is_direct &&
		((reg == ARCH_SP && rm == ARCH_R11) || (reg == ARCH_R11 && rm == ARCH_SP)))
		return ARCH_EFFECT_COMPARE_MARK;
	if (!is_move && d->opcode != 0x8d)
		return ARCH_EFFECT_UNKNOWN;
	*value = is_move ? 0 : d->displacement;
	is_from_sp = is_move ? from == ARCH_SP : is_from_sp;
	is_from_fp = is_move ? from == ARCH_FP : is_from_fp;
	if (to == ARCH_FP && is_from_sp)
		return ARCH_EFFECT_FP_FROM_SP;
	if (to == ARCH_SP && is_from_fp)
		return ARCH_EFFECT_SP_FROM_FP;
	return to == ARCH_R11 && is_from_sp ? ARCH_EFFECT_MARK : ARCH_EFFECT_UNKNOWN;
}

static inline enum arch_effect arch_effect_of(
	const struct arch_decoder *d, int64_t immediate, int32_t *value)
{
	enum arch_effect frame = arch_frame_effect(d, immediate, value);

	unsigned opcode = d->map == 0 ? d->opcode : d->map == 1 ? 0x100 + d->opcode : ~0u;

	if (frame != ARCH_EFFECT_UNKNOWN)
		return frame;
	*value = 0;
	if (!d->map && d->is_wide && !d->r && arch_is_above_sp(d)) {
		*value = d->displacement;
		if (d->opcode == 0x8d && d->reg == ARCH_SP)
			return ARCH_EFFECT_SP;
		if (d->opcode == 0x8b && d->reg == ARCH_FP)
			return ARCH_EFFECT_LOAD_FP;
		if (d->opcode == 0x89 && d->reg == ARCH_FP)
			return ARCH_EFFECT_SAVE_FP;
	}
	if (arch_is_adjustment(d)) {
		*value = (int32_t)(d->reg ? -immediate : immediate);
		return ARCH_EFFECT_SP;
	}
	if (d->is_vector)
		opcode = ~0u;
	switch (opcode) {
	case 0x50 ... 0x57: /* push */
	case 0x68:
	case 0x6a:
	case 0x9c:
	case 0x1a0:
	case 0x1a8:
		*value = -8;
		if (d->is_short)
			return ARCH_EFFECT_UNKNOWN;
		return opcode == 0x55 && !d->b ? ARCH_EFFECT_PUSH_FP : ARCH_EFFECT_SP;
	case 0x58 ... 0x5f: /* pop */
		*value = 8;
		if (d->is_short || (opcode == 0x5c && !d->b))
			return ARCH_EFFECT_UNKNOWN;
		return opcode == 0x5d && !d->b ? ARCH_EFFECT_POP_FP : ARCH_EFFECT_SP;
	case 0x9d:
	case 0x1a1:
	case 0x1a9:
	case 0x8f:
		*value = 8;
		return d->is_short || (opcode == 0x8f && d->mod == 3) ? ARCH_EFFECT_UNKNOWN
								      : ARCH_EFFECT_SP;
	case 0xff:
		*value = -8;
		if (d->reg == 6)
			return d->is_short ? ARCH_EFFECT_UNKNOWN : ARCH_EFFECT_SP;
		*value = 0;
		if (d->reg == 2)
			return ARCH_EFFECT_CALL_INDIRECT;
		if (d->reg == 4)
			return ARCH_EFFECT_JUMP_INDIRECT;
		if (d->reg > 1)
			return ARCH_EFFECT_UNKNOWN;
		break;
	case 0x90:
		if (!d->b)
			return ARCH_EFFECT_NOP;
		break;
	case 0x11f:
		return ARCH_EFFECT_NOP;
	case 0xc9:
		return d->is_short ? ARCH_EFFECT_UNKNOWN : ARCH_EFFECT_LEAVE;
	case 0xcc:
	case 0xf4:
	case 0x10b: /* ud2 */
	case 0x1b9: /* ud1 */
		return ARCH_EFFECT_STOP;
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3:
	case 0x180 ... 0x18f:
		*value = (int32_t)immediate;
		return ARCH_EFFECT_BRANCH;
	case 0xc2:
		*value = (int32_t)(immediate & 0xffff);
		return ARCH_EFFECT_RETURN;
	case 0xc3:
		return ARCH_EFFECT_RETURN;
	case 0xe8:
		*value = (int32_t)immediate;
		return ARCH_EFFECT_CALL;
	case 0xe9:
	case 0xeb:
		*value = (int32_t)immediate;
		return ARCH_EFFECT_JUMP;
	}
	if (arch_writes(d, ARCH_SP))
		return ARCH_EFFECT_UNKNOWN;
	return arch_writes(d, ARCH_FP) ? ARCH_EFFECT_CLOBBER_FP : ARCH_EFFECT_NONE;
}

static inline struct arch_instruction arch_decode(const uint8_t *at, unsigned room)
{
	struct arch_decoder d = {.at = at, .room = room < 15 ? room : 15};
	struct arch_instruction out = {ARCH_EFFECT_UNKNOWN, 0, 0};
	int64_t immediate;

	arch_read_opcode(&d);
	if (arch_is_unsupported(&d))
		return out;
	if (arch_has_modrm(&d))
		arch_read_modrm(&d);
	/* Opcode 0x8f is `pop` only if `reg` is 0. Otherwise it is AMD's XOP prefix. */
	if (!d.map && d.opcode == 0x8f && d.reg)
		return out;
	immediate = arch_next_signed(&d, arch_immediate_bytes(&d));
	if (d.next > d.room)
		return out;
	out.bytes = d.next;
	out.effect = arch_effect_of(&d, immediate, &out.value);
	return out;
}

#define ARCH_ENTRY_CFA	8u
#define ARCH_CALL_BYTES 5u
#define ARCH_CALL_STEP	1u

/* call distance		e8 .. .. .. .. */
static inline uintptr_t arch_called(const uint8_t *code, uintptr_t address)
{
	int32_t distance;

	if (code[0] != 0xe8)
		return 0;
	memcpy(&distance, code + 1, sizeof(distance));
	return address + ARCH_CALL_BYTES + (uintptr_t)(intptr_t)distance;
}

#define ARCH_CALL_BYTES_MIN 2u
#define ARCH_CALL_BYTES_MAX 8u

static inline bool arch_follows_call(const struct arch_text *source, uintptr_t pc)
{
	uint8_t code[ARCH_CALL_BYTES_MAX];
	const uint8_t *end = code + sizeof(code);
	unsigned have = sizeof(code);

	if (pc < have)
		return false;
	if (arch_text_read(source, pc - have, code, have) < have) {
		have = pc & (sizeof(uintptr_t) - 1); /* within the word of pc */
		if (arch_text_read(source, pc - have, code + sizeof(code) - have, have) < have)
			return false;
	}
	for (unsigned bytes = ARCH_CALL_BYTES_MIN; bytes <= have; bytes++) {
		struct arch_instruction instruction = arch_decode(end - bytes, bytes);

		if (instruction.bytes == bytes &&
			(instruction.effect == ARCH_EFFECT_CALL ||
				instruction.effect == ARCH_EFFECT_CALL_INDIRECT))
			return true;
	}
	return false;
}

/* Maximum number of instructions of a path. Loops unrolled by hand have some KiB of code. */
#define ARCH_FOLLOW_INSTRUCTIONS 4000u
/* Maximum number of branch targets that a path remembers, to try them if it fails. */
#define ARCH_FOLLOW_BRANCHES 8u
/* Maximum nesting of subroutines, each of which must be followed to its return. */
#define ARCH_FOLLOW_CALLS  2u
#define ARCH_FOLLOW_WINDOW 64u

/*
 * The state at one instruction of a path. Offsets count from the stack pointer at the path's start.
 */
struct arch_path_state {
	uintptr_t pc;
	int64_t sp; /* offset of the stack pointer */
	/*
	 * Offset from which the path loaded the caller's frame pointer; -1 if not loaded, because
	 * it is still in the register.
	 */
	int64_t fp;
	/* The path has overwritten the frame pointer register with another value. */
	bool is_lost;
	/*
	 * Offset at which the path saved the frame pointer register (INT64_MAX: not saved), and the
	 * value of `fp` at that time.
	 */
	int64_t saved, saved_fp;
	/* Upper end of the stack words that the path may have overwritten. */
	int64_t written;
	/* Address of the end of the last instruction that changed sp. */
	uintptr_t moved;
};

struct arch_path {
	const struct arch_text *source;
	/* Number of instructions that may still be followed, shared with subroutines. */
	unsigned *left;
	uintptr_t from; /* address of bytes[0] */
	unsigned have;
	uint8_t bytes[ARCH_FOLLOW_WINDOW];
	struct arch_path_state at;
	/* States at branch targets to try later. NULL in a subroutine. */
	struct arch_path_state *branches;
	unsigned branch_count;
};

static inline struct arch_instruction arch_path_next(struct arch_path *path)
{
	uintptr_t pc = path->at.pc;

	if (pc < path->from || pc - path->from + 15 > path->have) {
		path->from = pc;
		path->have = arch_text_read(path->source, pc, path->bytes, sizeof(path->bytes));
	}
	return arch_decode(path->bytes + (pc - path->from),
		path->have > pc - path->from ? path->have - (unsigned)(pc - path->from) : 0);
}

/* Apply an instruction that changes or saves the frame pointer to the state @at. */
static inline void arch_path_frame_pointer(
	struct arch_path_state *at, const struct arch_instruction *instruction)
{
	int64_t offset = at->sp + instruction->value;

	switch (instruction->effect) {
	case ARCH_EFFECT_PUSH_FP:
		at->sp = offset;
		/* fall through */
	case ARCH_EFFECT_SAVE_FP:
		if (!at->is_lost) {
			at->saved = offset;
			at->saved_fp = at->fp;
		} else if (offset == at->saved) {
			at->saved = INT64_MAX;
		}
		if (at->written < offset + 8)
			at->written = offset + 8;
		break;
	case ARCH_EFFECT_POP_FP:
		offset = at->sp;
		at->sp += 8;
		/* fall through */
	case ARCH_EFFECT_LOAD_FP:
		at->fp = offset == at->saved ? at->saved_fp : offset;
		at->is_lost = offset < at->written && offset != at->saved;
		break;
	case ARCH_EFFECT_FP_FROM_SP:
	case ARCH_EFFECT_CLOBBER_FP:
		at->is_lost = true;
		break;
	default:
		break;
	}
}

static int arch_path_to_return(struct arch_path *path, unsigned calls);

/* Follow the subroutine at @pc to its return. Returns false if the return was not found. */
static bool arch_path_step_call(struct arch_path *path, uintptr_t pc, unsigned calls)
{
	struct arch_path inner = {.source = path->source,
		.left = path->left,
		.at = {.pc = pc, .fp = -1, .saved = INT64_MAX}};
	int popped = calls < ARCH_FOLLOW_CALLS ? arch_path_to_return(&inner, calls + 1) : -ENOENT;

	if (popped < 0 || inner.at.sp)
		return false;
	path->at.sp += popped;
	path->at.is_lost |= inner.at.is_lost || inner.at.fp >= 0;
	return true;
}

/*
 * Apply @instruction, which ends at path->at.pc, to the state. Returns false if the path cannot be
 * followed further. A jump backward may close a loop: if there is another branch target to try, end
 * the path at such a jump.
 */
static bool arch_path_step(
	struct arch_path *path, const struct arch_instruction *instruction, unsigned calls)
{
	struct arch_path_state *at = &path->at;
	uintptr_t target = at->pc + (uintptr_t)(intptr_t)instruction->value;
	int64_t sp = at->sp;

	switch (instruction->effect) {
	case ARCH_EFFECT_UNKNOWN:
	case ARCH_EFFECT_ALIGN:
	case ARCH_EFFECT_SP_FROM_FP:
	case ARCH_EFFECT_LEAVE:
	case ARCH_EFFECT_JUMP_INDIRECT:
	case ARCH_EFFECT_CALL_INDIRECT:
	case ARCH_EFFECT_STOP:
		return false;
	case ARCH_EFFECT_SP:
		at->sp += instruction->value;
		break;
	case ARCH_EFFECT_BRANCH:
		/*
		 * End at a loop that changes sp, as stack probes do, because its number of rounds
		 * is unknown.
		 */
		if (target < at->moved && at->moved <= at->pc)
			return false;
		if (path->branches && path->branch_count < ARCH_FOLLOW_BRANCHES) {
			path->branches[path->branch_count] = *at;
			path->branches[path->branch_count++].pc = target;
		}
		break;
	case ARCH_EFFECT_JUMP:
		if (instruction->value < 0 && path->branch_count)
			return false;
		at->pc = target;
		break;
	case ARCH_EFFECT_CALL:
		return arch_path_step_call(path, target, calls);
	default:
		arch_path_frame_pointer(at, instruction);
	}
	if (at->sp != sp)
		at->moved = at->pc;
	return true;
}

/*
 * Is @instruction the `mov %rsp,%rbp` of a function's prologue, after a push of the register's
 * initial frame pointer? If so, the path has made a tail call (a jump) to that function, and the
 * return address is just above the pushed frame pointer.
 */
static bool arch_path_enters_function(
	const struct arch_path_state *at, const struct arch_instruction *instruction)
{
	return instruction->effect == ARCH_EFFECT_FP_FROM_SP && !at->is_lost &&
	       at->saved == at->sp && at->saved_fp == at->fp;
}

/*
 * Follow @path to its return, or to the function to which it makes a tail call. Returns the number
 * of bytes of arguments that the return pops, or -ENOENT.
 */
static int arch_path_to_return(struct arch_path *path, unsigned calls)
{
	while (*path->left) {
		struct arch_instruction instruction = arch_path_next(path);

		--*path->left;
		path->at.pc += instruction.bytes;
		if (instruction.effect == ARCH_EFFECT_RETURN)
			return instruction.value;
		if (!calls && arch_path_enters_function(&path->at, &instruction)) {
			path->at.sp += 8;
			return 0;
		}
		if (arch_path_step(path, &instruction, calls))
			continue;
		if (!path->branch_count)
			break;
		path->at = path->branches[--path->branch_count];
	}
	return -ENOENT;
}

static inline int arch_follow_code(
	const struct arch_text *source, uintptr_t pc, struct arch_epilogue *epilogue)
{
	unsigned left = ARCH_FOLLOW_INSTRUCTIONS;
	struct arch_path_state branches[ARCH_FOLLOW_BRANCHES];
	struct arch_path path = {.source = source,
		.left = &left,
		.at = {.pc = pc, .fp = -1, .saved = INT64_MAX},
		.branches = branches};
	int popped = arch_path_to_return(&path, 0);

	if (popped < 0 || path.at.is_lost || path.at.sp < 0 || path.at.sp > INT32_MAX / 2 ||
		(path.at.sp & 7))
		return -ENOENT;
	epilogue->ra = 8 + (uint32_t)popped;
	epilogue->cfa = (uint32_t)path.at.sp + epilogue->ra;
	epilogue->fp = path.at.fp < 0 ? 0 : epilogue->cfa - (uint32_t)path.at.fp;
	epilogue->others = true;
	return 0;
}

#endif
