/* SPDX-License-Identifier: MIT */
/*
 * x86_64: __syscall_cancel_arch() gets the system call's number as its seventh parameter, which is
 * the last word that the caller pushes.
 */
#ifndef ARCH_X86_64_CANCELLABLE_H
#define ARCH_X86_64_CANCELLABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <arch_follow.h>

#include "arch/code.h"

/*
 * The bytes of these instructions:
 *
 * mov %rdi, %r11		49 89 fb
 * mov %rsi, %rax		48 89 f0
 * mov %rdx, %rdi		48 89 d7
 * mov %rcx, %rsi		48 89 ce
 * mov %r8, %rdx		4c 89 c2
 * mov %r9, %r10		4d 89 ca
 * mov 8(%rsp), %r8		4c 8b 44 24 08
 * mov 16(%rsp), %r9		4c 8b 4c 24 10
 * mov %r11, 8(%rsp)		4c 89 5c 24 08
 * syscall			0f 05
 */
#define ARCH_CANCELLABLE                                                           \
	"\x49\x89\xfb\x48\x89\xf0\x48\x89\xd7\x48\x89\xce\x4c\x89\xc2\x4d\x89\xca" \
	"\x4c\x8b\x44\x24\x08\x4c\x8b\x4c\x24\x10\x4c\x89\x5c\x24\x08\x0f\x05"

/* Search this many bytes before a call. In Debian's libraries the distance is at most 15 bytes. */
#define ARCH_CANCELLABLE_BYTES 40u
#define ARCH_CALL_NUMBERS      1024 /* all system call numbers are lower */

/* Do the @bytes of @code consist of instructions that do not change the stack pointer? */
static inline bool arch_keeps_stack(const uint8_t *code, unsigned bytes)
{
	while (bytes) {
		struct arch_instruction next = arch_decode(code, bytes);

		if (!next.bytes ||
			(next.effect != ARCH_EFFECT_NONE && next.effect != ARCH_EFFECT_NOP &&
				next.effect != ARCH_EFFECT_CLOBBER_FP))
			return false;
		code += next.bytes;
		bytes -= next.bytes;
	}
	return true;
}

/*
 * Find `push $n`, which is 6a n or 68 n n n n. Code is searched backwards from the call, so these
 * bytes may be a part of another instruction. Accept a push only if the instructions after it end
 * exactly at the call. If two pushes are accepted, return ARCH_SYSCALL_NUMBERLESS.
 */
static inline long arch_cancellable_number(const uint8_t *code, unsigned bytes)
{
	long found = ARCH_SYSCALL_NUMBERLESS;
	unsigned end = bytes - ARCH_CALL_BYTES;

	if (bytes < ARCH_CALL_BYTES || code[end] != 0xe8)
		return -1;
	for (unsigned length = 2; length <= end && length <= ARCH_CANCELLABLE_BYTES; length++) {
		const uint8_t *push = code + end - length;
		unsigned push_bytes = push[0] == 0x6a ? 2 : 5;
		int32_t number = 0;

		if ((push[0] != 0x6a && push[0] != 0x68) || push_bytes > length)
			continue;
		memcpy(&number, push + 1, push_bytes - 1);
		if (number >= (push_bytes == 2 ? 0x80 : ARCH_CALL_NUMBERS) || number < 0 ||
			!arch_keeps_stack(push + push_bytes, length - push_bytes))
			continue;
		if (found >= 0)
			return ARCH_SYSCALL_NUMBERLESS;
		found = number;
	}
	return found;
}

#endif
