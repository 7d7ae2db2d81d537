/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE. HotSpot's frames on aarch64 are not known, so nothing is found. */
#ifndef ARCH_AARCH64_HOTSPOT_H
#define ARCH_AARCH64_HOTSPOT_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/code.h"
#include "arch/registers.h"

#define ARCH_HOTSPOT_IS_KNOWN	0
#define ARCH_HOTSPOT_SENDER_SP	(-1)
#define ARCH_HOTSPOT_METHOD	(-3)
#define ARCH_HOTSPOT_CACHE	(-6)
#define ARCH_HOTSPOT_BCP	(-8)
#define ARCH_HOTSPOT_BCP_REG	22u
#define ARCH_HOTSPOT_NEAR	16u
#define ARCH_HOTSPOT_CALL_BYTES 4u

static inline bool arch_hotspot_interpreter_edge(const struct arch_hotspot_code *code,
	const struct arch_registers *registers, struct arch_hotspot_edge *out)
{
	(void)code, (void)registers, (void)out;
	return false;
}

static inline bool arch_hotspot_adapter_edge(const struct arch_hotspot_code *code,
	const struct arch_registers *registers, struct arch_hotspot_edge *out)
{
	(void)code, (void)registers, (void)out;
	return false;
}

static inline bool arch_hotspot_call(const uint8_t *before, uintptr_t pc, uintptr_t *target)
{
	(void)before, (void)pc, (void)target;
	return false;
}

#endif
