/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: works on the bytes it is given. */
#ifndef ARCH_AARCH64_LUA_H
#define ARCH_AARCH64_LUA_H

#include <stdint.h>
#include <string.h>

#define ARCH_CALL_BYTES 4u
#define ARCH_CALL_STEP	4u

/* bl distance			1001 01.. */
static inline uintptr_t arch_called(const uint8_t *code, uintptr_t address)
{
	uint32_t word;

	memcpy(&word, code, sizeof(word));
	if (word >> 26 != 0x25)
		return 0;
	return address + (uintptr_t)(((intptr_t)((uint64_t)word << 38) >> 38) * 4);
}

#endif
