/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE. Begin and end of V8's functions on aarch64 are not known: finds nothing. */
#ifndef ARCH_AARCH64_V8_H
#define ARCH_AARCH64_V8_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/code.h"
#include "arch/registers.h"

#define ARCH_V8_BEFORE 0u
#define ARCH_V8_DISPATCH 21u /* x21; source: V8's registers-arm64.h */

static inline bool arch_v8_at_edge(const struct arch_code *code,
	const struct arch_registers *registers, uintptr_t *function, uintptr_t *address)
{
	(void)code, (void)registers, (void)function, (void)address;
	return false;
}

#endif
