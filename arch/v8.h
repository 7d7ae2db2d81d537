/* SPDX-License-Identifier: MIT */
/*
 * Find the JavaScript function at whose begin or end the pc is, where it has no stack frame.
 * Selected by include path: arch/<cpu>/arch_v8.h defines all names below.
 *
 * ARCH_V8_BEFORE    bytes of code to read before the pc
 * ARCH_V8_DISPATCH  DWARF number of the register with the interpreter's handler table
 * arch_v8_at_edge(const struct arch_code *code, const struct arch_registers *registers,
 *                 uintptr_t *function, uintptr_t *address) -> bool
 *                 Is the pc at the begin or end of a function that V8 compiled? Then *function is
 *                 set to its tagged JSFunction, or to 0 if the JSFunction is stored at *address,
 *                 possibly below the stack pointer.
 *                 Context: signal-safe.
 */
#ifndef ARCH_V8_H
#define ARCH_V8_H

#include <arch_v8.h>

#if !defined(ARCH_V8_BEFORE) || !defined(ARCH_V8_DISPATCH)
#error "arch_v8.h lacks a primitive"
#endif

#endif
