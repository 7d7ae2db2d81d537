/* SPDX-License-Identifier: MIT */
/*
 * Frames of Go on aarch64. Source: Go's src/cmd/compile/abi-internal.md, "arm64 architecture".
 *
 *	CFA - bytes      return address, at sp, once stack has been allocated
 *	CFA - bytes - 8  the caller's x29, below sp
 */
#ifndef ARCH_AARCH64_GO_H
#define ARCH_AARCH64_GO_H

#include <stdint.h>

#include "arch/leb.h"

#define ARCH_GO_RA	  30
#define ARCH_GO_RULES_MAX 32u

static inline unsigned arch_go_rules(uint8_t *out, uint64_t bytes)
{
	unsigned count = 0;

	out[count++] = 0x0c; /* DW_CFA_def_cfa sp, bytes */
	out[count++] = 31;
	count += arch_uleb(out + count, bytes);
	if (bytes) {
		out[count++] = 0x80 | 30; /* DW_CFA_offset x30, CFA - bytes */
		count += arch_uleb(out + count, bytes / 8);
		out[count++] = 0x80 | 29; /* DW_CFA_offset x29, CFA - bytes - 8 */
		count += arch_uleb(out + count, bytes / 8 + 1);
	} else {
		out[count++] = 0x08; /* DW_CFA_same_value x30, x29 */
		out[count++] = 30;
		out[count++] = 0x08;
		out[count++] = 29;
	}
	return count;
}

#endif
