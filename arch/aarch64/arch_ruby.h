/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: works on the bytes it is given. Ruby 3.1 on aarch64, where it has no YJIT. */
#ifndef ARCH_AARCH64_RUBY_H
#define ARCH_AARCH64_RUBY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ARCH_RUBY_HAS_YJIT   0
#define ARCH_RUBY_CODE_BYTES 4u
#define ARCH_RUBY_SLOTS	     0

static inline uintptr_t arch_ruby_loaded(const uint8_t *code, uintptr_t address)
{
	uint32_t page, load;
	int64_t pages;

	memcpy(&page, code, sizeof(page));
	memcpy(&load, code + 4, sizeof(load));
	/* adrp x0, page; ldr w0, [x0, offset] */
	if ((page & 0x9f00001f) != 0x90000000 || (load & 0xffc003ff) != 0xb9400000)
		return 0;
	pages = (int64_t)((uint64_t)(page >> 5 & 0x7ffff) << 45) >> 45;
	pages = pages * 4 + (page >> 29 & 3);
	return (address & ~(uintptr_t)4095) + (uintptr_t)(pages * 4096) + (load >> 10 & 0xfff) * 4;
}

static inline bool arch_ruby_is_pushing(const uint8_t *code, unsigned bytes)
{
	(void)code, (void)bytes;
	return false;
}

#endif
