/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: works on the bytes it is given. */
#ifndef ARCH_X86_64_LUA_H
#define ARCH_X86_64_LUA_H

#include <stdint.h>
#include <string.h>

#define ARCH_CALL_BYTES 5u
#define ARCH_CALL_STEP	1u

/* call distance		e8 .. .. .. .. */
static inline uintptr_t arch_called(const uint8_t *code, uintptr_t address)
{
	int32_t distance;

	if (code[0] != 0xe8)
		return 0;
	memcpy(&distance, code + 1, sizeof(distance));
	return address + ARCH_CALL_BYTES + (uintptr_t)(intptr_t)distance;
}

#endif
