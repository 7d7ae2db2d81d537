/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE. Ruby's structures on aarch64 are not known, so nothing is found. */
#ifndef ARCH_AARCH64_RUBY_H
#define ARCH_AARCH64_RUBY_H

#include <stdbool.h>
#include <stdint.h>

#define ARCH_RUBY_IS_KNOWN   0
#define ARCH_RUBY_LOAD_BYTES 8u
#define ARCH_RUBY_CALL_BYTES 4u
#define ARCH_RUBY_CALL_STEP  4u
#define ARCH_RUBY_HAS_YJIT   0
#define ARCH_RUBY_CODE_BYTES 4u
#define ARCH_RUBY_SLOTS	     0

static inline uintptr_t arch_ruby_loaded(const uint8_t *code, uintptr_t address)
{
	(void)code, (void)address;
	return 0;
}

static inline uintptr_t arch_ruby_target(const uint8_t *code, uintptr_t address)
{
	(void)code, (void)address;
	return 0;
}

static inline bool arch_ruby_is_pushing(const uint8_t *code, unsigned bytes)
{
	(void)code, (void)bytes;
	return false;
}

#endif
