/* SPDX-License-Identifier: MIT */
/*
 * How HotSpot's interpreter lays out its frames, and where its code and its adapters' is about to
 * have one or does not have it any more. Chosen by include path: arch/<cpu>/arch_hotspot.h supplies
 * everything named below.
 *
 * ARCH_HOTSPOT_IS_KNOWN    0: nothing is, and the rest is never asked
 * ARCH_HOTSPOT_SENDER_SP   from the frame pointer to a slot, in words: the caller's stack pointer
 * ARCH_HOTSPOT_METHOD      the Method
 * ARCH_HOTSPOT_CACHE       what its constants were found to be (ConstantPoolCache)
 * ARCH_HOTSPOT_BCP         where in its bytecode it is, as of the last call
 * ARCH_HOTSPOT_BCP_REG     DWARF number of the register that has it in between
 * ARCH_HOTSPOT_NEAR        bytes of code before and behind the pc that may tell an edge
 * arch_hotspot_interpreter_edge(const struct arch_hotspot_code *code,
 *                 const struct arch_registers *registers, struct arch_hotspot_edge *out) -> bool
 *                 is the innermost activation one that has no frame of its own? Context:
 *                 signal-safe.
 * arch_hotspot_adapter_edge(the same) -> bool, of code between compiled code and the interpreter
 * arch_hotspot_call(const uint8_t before[ARCH_HOTSPOT_CALL_BYTES], uintptr_t pc, uintptr_t *target)
 *                 -> bool, does an instruction that calls end at @pc? *target is 0 where only a
 *                 register knew it. Context: signal-safe.
 */
#ifndef ARCH_HOTSPOT_H
#define ARCH_HOTSPOT_H

#include <arch_hotspot.h>

#ifndef ARCH_HOTSPOT_IS_KNOWN
#error "arch_hotspot.h lacks a primitive"
#endif

#endif
