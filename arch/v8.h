/* SPDX-License-Identifier: MIT */
/*
 * Find the function of V8's code at its begin or end, where its frame does not exist. Selected by
 * include path: arch/<cpu>/arch_v8.h defines all names below.
 *
 * ARCH_V8_BEFORE    bytes of code to read before the pc
 * ARCH_V8_DISPATCH  DWARF number of the register with the interpreter's handler table
 * arch_v8_at_edge(const struct arch_code *code, const struct arch_registers *registers,
 *                 uintptr_t *function, uintptr_t *address) -> bool
 *                 Does @code begin or end a function of V8? Then *function is the tagged
 *                 JSFunction, or 0: it is stored at *address, possibly below the stack pointer.
 *                 Context: signal-safe.
 */
#ifndef ARCH_V8_H
#define ARCH_V8_H

#include <arch_v8.h>

#if !defined(ARCH_V8_BEFORE) || !defined(ARCH_V8_DISPATCH)
#error "arch_v8.h lacks a primitive"
#endif

#endif
