/* SPDX-License-Identifier: MIT */
/*
 * Frames of Go on x86_64. Source: Go's src/cmd/compile/abi-internal.md, "amd64 architecture".
 *
 *	CFA -  8   return address
 *	CFA - 16   the caller's rbp, once stack has been allocated
 *	...
 *	CFA - 8 - bytes = rsp
 */
#ifndef ARCH_X86_64_GO_H
#define ARCH_X86_64_GO_H

#include <stdint.h>

#include "arch/leb.h"

#define ARCH_GO_RA	  16
#define ARCH_GO_RULES_MAX 16u

static inline unsigned arch_go_rules(uint8_t *out, uint64_t bytes)
{
	unsigned count = 0;

	out[count++] = 0x0c; /* DW_CFA_def_cfa rsp, bytes + 8 */
	out[count++] = 7;
	count += arch_uleb(out + count, bytes + 8);
	out[count++] = 0x80 | 16; /* DW_CFA_offset return address, CFA - 8 */
	out[count++] = 1;
	if (bytes) {
		out[count++] = 0x80 | 6; /* DW_CFA_offset rbp, CFA - 16 */
		out[count++] = 2;
	} else {
		out[count++] = 0x08; /* DW_CFA_same_value rbp */
		out[count++] = 6;
	}
	return count;
}

#endif
