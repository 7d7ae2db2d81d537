/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE. LuaJIT's stack frame on aarch64 is not known, so nothing is found. */
#ifndef ARCH_AARCH64_LUAJIT_H
#define ARCH_AARCH64_LUAJIT_H

#include <stdbool.h>
#include <stdint.h>

#define ARCH_LUAJIT_IS_KNOWN 0

#define ARCH_LUAJIT_BASE     0
#define ARCH_LUAJIT_PC	     0
#define ARCH_LUAJIT_CALLED   0
#define ARCH_LUAJIT_DISPATCH 0

#define ARCH_LUAJIT_RESULTS  8u
#define ARCH_LUAJIT_STATE    16u
#define ARCH_LUAJIT_SAVED    24u
#define ARCH_LUAJIT_PREVIOUS 32u
#define ARCH_LUAJIT_BYTES    80u

#define ARCH_LUAJIT_BEFORE     4u
#define ARCH_LUAJIT_CODE_BYTES 8u

static inline bool arch_luajit_links(const uint8_t *code)
{
	(void)code;
	return false;
}

#define ARCH_LUAJIT_SET_BYTES 11u

static inline bool arch_luajit_sets(const uint8_t *code, int32_t offset, int32_t value)
{
	(void)code, (void)offset, (void)value;
	return false;
}

static inline bool arch_luajit_has_base(const uint8_t *code, int32_t low, int32_t high)
{
	(void)code, (void)low, (void)high;
	return false;
}

#endif
