/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE. PHP's JIT code and fibers on aarch64 are not known; constants are found. */
#ifndef ARCH_AARCH64_PHP_H
#define ARCH_AARCH64_PHP_H

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "arch/code.h"

#define ARCH_PHP_HAS_JIT       0
#define ARCH_PHP_CODE_BYTES    4u
#define ARCH_PHP_RETURNS_BYTES 16u
#define ARCH_PHP_HAS_FIBERS    0
#define ARCH_PHP_LEFT_FP       0u
#define ARCH_PHP_LEFT_PC       0u
#define ARCH_PHP_LEFT_BYTES    0u

static inline int arch_php_find_buffer(
	const uint8_t *code, uintptr_t address, uintptr_t *start, uintptr_t *bytes)
{
	(void)code, (void)address, (void)start, (void)bytes;
	return -ENOENT;
}

/* [bti c;] mov w0, #x; [movk w0, #y, lsl #16;] ret */
static inline uint32_t arch_php_returned(const uint8_t *code)
{
	uint32_t words[ARCH_PHP_RETURNS_BYTES / 4], number;
	unsigned n;

	memcpy(words, code, sizeof(words));
	n = words[0] == 0xd503245f;
	if ((words[n] & 0xffe0001f) != 0x52800000)
		return 0;
	number = words[n++] >> 5 & 0xffff;
	if ((words[n] & 0xffe0001f) == 0x72a00000)
		number |= (words[n++] >> 5 & 0xffff) << 16;
	return words[n] == 0xd65f03c0 ? number : 0;
}

static inline uint32_t arch_php_pushed(const struct arch_text *text, uintptr_t pc)
{
	(void)text, (void)pc;
	return 0;
}

#endif
