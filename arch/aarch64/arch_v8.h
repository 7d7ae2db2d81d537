/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE. V8's functions at their edges on aarch64: nothing is known of them. */
#ifndef ARCH_AARCH64_V8_H
#define ARCH_AARCH64_V8_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/code.h"
#include "arch/registers.h"

#define ARCH_V8_BEFORE 0u
#define ARCH_V8_DISPATCH 21u /* x21, as registers-arm64.h of V8 has it */

static inline bool arch_v8_at_edge(const struct arch_code *code,
	const struct arch_registers *registers, uintptr_t *function, uintptr_t *address)
{
	(void)code, (void)registers, (void)function, (void)address;
	return false;
}

#endif
