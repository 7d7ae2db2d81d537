/* SPDX-License-Identifier: MIT */
/*
 * Frames of HotSpot's interpreter, and how to find the caller of code that has no frame of its own:
 * at the begin and the end of an interpreted method, and in adapters between interpreted and
 * compiled code. Selected by include path: arch/<cpu>/arch_hotspot.h defines all names below.
 *
 * ARCH_HOTSPOT_IS_KNOWN    0: unknown on this CPU; the other names are not used then
 * ARCH_HOTSPOT_SENDER_SP   slot of the caller's stack pointer, in words from the frame pointer
 * ARCH_HOTSPOT_METHOD      slot of the Method
 * ARCH_HOTSPOT_CACHE       slot of the ConstantPoolCache, with the resolved constants
 * ARCH_HOTSPOT_BCP         slot of the bytecode pointer, as of the last call
 * ARCH_HOTSPOT_BCP_REG     DWARF number of the register with the current bytecode pointer
 * ARCH_HOTSPOT_NEAR        number of bytes of code to read before the pc, and after it
 * arch_hotspot_interpreter_edge(const struct arch_hotspot_code *code,
 *                 const struct arch_registers *registers, struct arch_hotspot_edge *out) -> bool
 *                 Is the innermost method being entered or left, so that it has no frame of its
 *                 own? Then set @out to its caller. Context: signal-safe.
 * arch_hotspot_adapter_edge(code, registers, out) -> bool
 *                 If the pc is in an adapter, set @out to the adapter's caller.
 *                 Context: signal-safe.
 * arch_hotspot_call(const uint8_t before[ARCH_HOTSPOT_CALL_BYTES], uintptr_t pc, uintptr_t *target)
 *                 -> bool. Does a call instruction end at @pc? *target is its target, or 0 for a
 *                 call through a register. Context: signal-safe.
 */
#ifndef ARCH_HOTSPOT_H
#define ARCH_HOTSPOT_H

#include <arch_hotspot.h>

#ifndef ARCH_HOTSPOT_IS_KNOWN
#error "arch_hotspot.h lacks a primitive"
#endif

#endif
