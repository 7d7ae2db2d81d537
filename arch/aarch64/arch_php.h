/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE. PHP on aarch64, whose compiler's code is not known. */
#ifndef ARCH_AARCH64_PHP_H
#define ARCH_AARCH64_PHP_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "arch/code.h"

#define ARCH_PHP_HAS_JIT    0
#define ARCH_PHP_CODE_BYTES 4u
#define ARCH_PHP_HAS_FIBERS 0
#define ARCH_PHP_LEFT_FP    0u
#define ARCH_PHP_LEFT_PC    0u
#define ARCH_PHP_LEFT_BYTES 0u

static inline int arch_php_find_buffer(
	const uint8_t *code, uintptr_t address, uintptr_t *start, uintptr_t *bytes)
{
	(void)code, (void)address, (void)start, (void)bytes;
	return -ENOENT;
}

static inline bool arch_php_is_hybrid(const uint8_t *code)
{
	(void)code;
	return false;
}

static inline uint32_t arch_php_pushed(const struct arch_text *text, uintptr_t pc)
{
	(void)text, (void)pc;
	return 0;
}

#endif
