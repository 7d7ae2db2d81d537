/* SPDX-License-Identifier: MIT */
/* aarch64: __syscall_cancel_arch() gets the system call's number in x6, its seventh parameter. */
#ifndef ARCH_AARCH64_CANCELLABLE_H
#define ARCH_AARCH64_CANCELLABLE_H

#include <stdint.h>
#include <string.h>

#include "arch/code.h"

/*
 * The bytes of these instructions:
 *
 * mov x8, x1		aa0103e8
 * mov x0, x2		aa0203e0
 * mov x1, x3		aa0303e1
 * mov x2, x4		aa0403e2
 * mov x3, x5		aa0503e3
 * mov x4, x6		aa0603e4
 * mov x5, x7		aa0703e5
 * svc #0		d4000001
 */
#define ARCH_CANCELLABLE                                                   \
	"\xe8\x03\x01\xaa\xe0\x03\x02\xaa\xe1\x03\x03\xaa\xe2\x03\x04\xaa" \
	"\xe3\x03\x05\xaa\xe4\x03\x06\xaa\xe5\x03\x07\xaa\x01\0\0\xd4"

/*
 * Find `mov w6, #n` or `mov x6, #n`. No instruction between this one and the final `bl` may write
 * x6; otherwise return ARCH_SYSCALL_NUMBERLESS.
 */
static inline long arch_cancellable_number(const uint8_t *code, unsigned bytes)
{
	uint32_t word;

	for (unsigned at = bytes & ~3u; at >= 4; at -= 4) {
		memcpy(&word, code + bytes - (bytes & ~3u) + at - 4, sizeof(word));
		if (at == (bytes & ~3u)) {
			if (word >> 26 != 0x25)
				return -1;
			continue;
		}
		if ((word & 0x7fe0001f) == 0x52800006)
			return word >> 5 & 0xffff;
		if ((word & 0x1f) == 6 || (word >> 26 & 0x1f) == 5 || word >> 26 == 0x35)
			break;
	}
	return bytes < 4 ? -1 : ARCH_SYSCALL_NUMBERLESS;
}

#endif
