/* SPDX-License-Identifier: MIT */
/*
 * ASYNC-SIGNAL-SAFE: works on the bytes it is given. State of LuaJIT 2.1's interpreter with 64-bit
 * references (GC64). Compiled traces use the same frame and spill registers below it.
 *
 *	rsp + 0		scratch				rdx	base
 *	    + 8		results, handler		rbx	bytecode instruction
 *	    + 16	lua_State			r14	dispatch table
 *	    + 24	saved bytecode instruction	rbp	lua_State or base in a C call
 *	    + 32	next outer frame of the state
 *	    + 40	r14, r15, rbx, rbp, return address
 */
#ifndef ARCH_X86_64_LUAJIT_H
#define ARCH_X86_64_LUAJIT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "arch/epilogue.h"

#define ARCH_LUAJIT_IS_KNOWN 1

#define ARCH_LUAJIT_BASE     1
#define ARCH_LUAJIT_PC	     3
#define ARCH_LUAJIT_CALLED   6
#define ARCH_LUAJIT_DISPATCH 14

#define ARCH_LUAJIT_RESULTS  8u
#define ARCH_LUAJIT_STATE    16u
#define ARCH_LUAJIT_SAVED    24u
#define ARCH_LUAJIT_PREVIOUS 32u
#define ARCH_LUAJIT_BYTES    80u

#define ARCH_LUAJIT_BEFORE     24u
#define ARCH_LUAJIT_CODE_BYTES 72u

/* maximum distance of a direct call inside the library */
#define ARCH_LUAJIT_NEAR       (1 << 22)
/* maximum number of instructions from the pc to the call that they prepare */
#define ARCH_LUAJIT_AHEAD      10u
#define ARCH_LUAJIT_NOT_A_CALL 0u

#define ARCH_LUAJIT_SET_BYTES 11u

/* mov %rbx,-8(%rdx)		48 89 5a f8 */
static inline bool arch_luajit_links(const uint8_t *code)
{
	static const uint8_t link[] = {0x48, 0x89, 0x5a, 0xf8};

	return !memcmp(code, link, sizeof(link));
}

/* movl $value,offset(%r14)	41 c7 86 .. .. .. .. .. .. .. .. */
static inline bool arch_luajit_sets(const uint8_t *code, int32_t offset, int32_t value)
{
	static const uint8_t move[] = {0x41, 0xc7, 0x86};

	return !memcmp(code, move, sizeof(move)) && !memcmp(code + 3, &offset, sizeof(offset)) &&
	       !memcmp(code + 7, &value, sizeof(value));
}

/*
 * If the instruction at @code calls a C function, return its length, else ARCH_LUAJIT_NOT_A_CALL. A
 * target from @low to @high is in the interpreter itself and not a C function:
 *
 *	e8 .. .. .. ..		call distance
 *	ff d.			call *%r
 *	ff 5. ..		call *8bits(%r)
 *	ff 9. .. .. .. ..	call *32bits(%r)
 */
static inline unsigned arch_luajit_call(const uint8_t *code, int32_t low, int32_t high)
{
	int32_t distance;

	if (code[0] == 0xe8) {
		memcpy(&distance, code + 1, sizeof(distance));
		distance += 5;
		return distance < ARCH_LUAJIT_NEAR && distance > -ARCH_LUAJIT_NEAR &&
				       (distance < low || distance >= high)
			       ? 5
			       : ARCH_LUAJIT_NOT_A_CALL;
	}
	if (code[0] != 0xff || (code[1] & 0x38) != 0x10)
		return ARCH_LUAJIT_NOT_A_CALL;
	return code[1] >> 6 == 3 ? 2 : code[1] >> 6 == 1 ? 3 : code[1] >> 6 == 2 ? 6 : 0;
}

/*
 * Do the instructions in code[@from, ARCH_LUAJIT_BEFORE) reload the base register, or jump away?
 *
 *	48 8b 5. 20		mov    32(%r),%rdx
 *	48 89 ea		mov    %rbp,%rdx
 *	41 ff 24 ee		jmp    *(%r14,%rbp,8)
 */
static inline bool arch_luajit_reloads(const uint8_t *code, unsigned from)
{
	for (; from + 3 <= ARCH_LUAJIT_BEFORE; from++) {
		const uint8_t *at = code + from;

		if (at[0] == 0x48 && at[1] == 0x89 && at[2] == 0xea)
			return true;
		if (from + 4 <= ARCH_LUAJIT_BEFORE &&
			((at[1] == 0x8b && (at[2] & 0xf8) == 0x50 && at[3] == 0x20) ||
				(at[0] == 0x41 && at[1] == 0xff && at[2] == 0x24 && at[3] == 0xee)))
			return true;
	}
	return false;
}

static inline bool arch_luajit_has_base(const uint8_t *code, int32_t low, int32_t high)
{
	unsigned at = ARCH_LUAJIT_BEFORE;

	for (unsigned from = 0; from < ARCH_LUAJIT_BEFORE; from++) {
		int32_t distance = (int32_t)(ARCH_LUAJIT_BEFORE - from);
		unsigned bytes = arch_luajit_call(code + from, low + distance, high + distance);

		if (bytes && from + bytes <= ARCH_LUAJIT_BEFORE &&
			!arch_luajit_reloads(code, from + bytes))
			return false;
	}
	for (unsigned n = 0; n < ARCH_LUAJIT_AHEAD && at < ARCH_LUAJIT_CODE_BYTES; n++) {
		struct arch_instruction next = arch_decode(code + at, ARCH_LUAJIT_CODE_BYTES - at);

		int32_t distance = (int32_t)(at - ARCH_LUAJIT_BEFORE);

		if (next.bytes && at + 6 <= ARCH_LUAJIT_CODE_BYTES &&
			(next.effect == ARCH_EFFECT_CALL ||
				next.effect == ARCH_EFFECT_CALL_INDIRECT) &&
			arch_luajit_call(code + at, low - distance, high - distance))
			return false;
		if (!next.bytes || next.effect == ARCH_EFFECT_JUMP ||
			next.effect == ARCH_EFFECT_JUMP_INDIRECT)
			break;
		at += next.bytes;
	}
	return true;
}

#endif
