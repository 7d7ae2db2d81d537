/* SPDX-License-Identifier: MIT */
/* Encode the operands of call-frame instructions. Source: DWARF 5, 7.6. */
#ifndef ARCH_LEB_H
#define ARCH_LEB_H

#include <stdint.h>

/* Write @value as ULEB128 to @out, at most 10 bytes. Returns the number of bytes. */
static inline unsigned arch_uleb(uint8_t *out, uint64_t value)
{
	unsigned count = 0;

	for (; value >= 0x80; value >>= 7)
		out[count++] = (uint8_t)(value | 0x80);
	out[count++] = (uint8_t)value;
	return count;
}

#endif
