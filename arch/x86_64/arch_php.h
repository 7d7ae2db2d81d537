/* SPDX-License-Identifier: MIT */
/*
 * ASYNC-SIGNAL-SAFE: works on the code it is given. PHP 8.2 and 8.4 on x86_64. JIT code does not
 * change the interpreter's stack pointer, with two exceptions: subroutines that assign variables,
 * and exits of traces. A trace's exit pushes its number and all registers, and pops them after a
 * call:
 *
 *	6a xx				push   $x
 *	eb xx				jmp		to the last of 32 exits
 *	48 81 04 24 xx xx xx xx		addq   $x,(%rsp)
 *	e9 xx xx xx xx			jmp
 *	48 81 ec f8 00 00 00		sub    $0xf8,%rsp
 *	…				mov, movsd
 *	ff d0				call   *%rax	or e8 xx xx xx xx
 *	48 81 c4 00 01 00 00		add    $0x100,%rsp
 */
#ifndef ARCH_X86_64_PHP_H
#define ARCH_X86_64_PHP_H

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "arch/epilogue.h"

#define ARCH_PHP_HAS_JIT       1
#define ARCH_PHP_CODE_BYTES    48u
#define ARCH_PHP_RETURNS_BYTES 10u
/*
 * jump_fcontext() saves these words on a fiber's stack, from the fiber's handle upwards:
 *	mxcsr, x87, guard, r12, r13, r14, r15, rbx, rbp, return address
 */
#define ARCH_PHP_HAS_FIBERS 1
#define ARCH_PHP_LEFT_FP    0x38u
#define ARCH_PHP_LEFT_PC    0x40u
#define ARCH_PHP_LEFT_BYTES 0x48u

#define ARCH_PHP_INSTRUCTIONS 56u /* maximum number of instructions of an exit */
#define ARCH_PHP_LONGEST      15u

/*
 * Find the two loads of mprotect()'s parameters, in any order. Their operands are the addresses of
 * the variables:
 *
 *	48 8b 35 xx xx xx xx		mov    size(%rip),%rsi
 *	48 8b 3d xx xx xx xx		mov    buffer(%rip),%rdi
 */
static inline int arch_php_find_buffer(
	const uint8_t *code, uintptr_t address, uintptr_t *start, uintptr_t *bytes)
{
	uintptr_t at[2] = {0, 0};
	int32_t distance;

	for (unsigned i = 0; i + 7 <= ARCH_PHP_CODE_BYTES; i++) {
		unsigned is_start = code[i + 2] == 0x3d;

		if (code[i] != 0x48 || code[i + 1] != 0x8b || (!is_start && code[i + 2] != 0x35))
			continue;
		memcpy(&distance, code + i + 3, sizeof(distance));
		at[is_start] = address + i + 7 + (uintptr_t)(intptr_t)distance;
		i += 6;
	}
	if (!at[0] || !at[1])
		return -ENOENT;
	*bytes = at[0];
	*start = at[1];
	return 0;
}

/* [endbr64;] mov $x,%eax; ret */
static inline uint32_t arch_php_returned(const uint8_t *code)
{
	uint32_t number;

	if (!memcmp(code, "\xf3\x0f\x1e\xfa", 4))
		code += 4;
	memcpy(&number, code + 1, sizeof(number));
	return code[0] == 0xb8 && code[5] == 0xc3 ? number : 0;
}

/* Decode straight ahead to the first branch, and count the bytes that are popped until then. */
static inline uint32_t arch_php_pushed(const struct arch_text *text, uintptr_t pc)
{
	uint8_t bytes[ARCH_PHP_LONGEST];
	struct arch_instruction next;
	int64_t sp = 0;

	for (unsigned n = 0; n < ARCH_PHP_INSTRUCTIONS; n++) {
		next = arch_decode(bytes, arch_text_read(text, pc, bytes, sizeof(bytes)));
		pc += next.bytes;
		if (next.effect == ARCH_EFFECT_JUMP)
			pc += (uintptr_t)(intptr_t)next.value;
		else if (next.effect == ARCH_EFFECT_SP)
			sp += next.value;
		else if (next.effect == ARCH_EFFECT_CALL ||
			 next.effect == ARCH_EFFECT_CALL_INDIRECT) {
			next = arch_decode(bytes, arch_text_read(text, pc, bytes, sizeof(bytes)));
			sp += next.effect == ARCH_EFFECT_SP ? next.value : 0;
			break;
		} else if (next.effect != ARCH_EFFECT_NONE && next.effect != ARCH_EFFECT_NOP &&
			   next.effect != ARCH_EFFECT_CLOBBER_FP) {
			break;
		}
	}
	return sp > 0 && sp < UINT16_MAX ? (uint32_t)sp : 0;
}

#endif
