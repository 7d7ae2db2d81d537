/* SPDX-License-Identifier: MIT */
/*
 * Which function V8's code runs where its frame is not there yet, or not any more. Chosen by
 * include path: arch/<cpu>/arch_v8.h supplies everything named below.
 *
 * ARCH_V8_BEFORE  how many bytes before the pc may tell it
 * ARCH_V8_DISPATCH  the register (DWARF) with the interpreter's table of handlers
 * arch_v8_at_edge(const struct arch_code *code, const struct arch_registers *registers,
 *                 uintptr_t *function, uintptr_t *address) -> bool
 *                 is @code, of which all bytes are there, how V8 begins or ends a function? Then
 *                 *function is the tagged JSFunction, or 0: it lies at *address, maybe below the
 *                 stack pointer. Context: signal-safe.
 */
#ifndef ARCH_V8_H
#define ARCH_V8_H

#include <arch_v8.h>

#if !defined(ARCH_V8_BEFORE) || !defined(ARCH_V8_DISPATCH)
#error "arch_v8.h lacks a primitive"
#endif

#endif
