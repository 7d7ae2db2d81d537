/* SPDX-License-Identifier: MIT */
/*
 * What Ruby's machine code tells: where it has its table of symbols, and how YJIT lays out the one
 * stack frame that its code has. Chosen by include path: arch/<cpu>/arch_ruby.h supplies everything
 * named below.
 *
 * ARCH_RUBY_HAS_YJIT    0: it is not built for this CPU, and none of what follows is asked for
 * ARCH_RUBY_CODE_BYTES  of code from the pc on that arch_ruby_is_pushing() looks at
 * ARCH_RUBY_SLOTS       where the return address may be, in bytes from the stack pointer, the
 *                       likeliest first
 * arch_ruby_loaded(const uint8_t *code, uintptr_t address) -> uintptr_t
 *                 what the function at @address, whose first 12 bytes are in @code, loads first,
 *                 if from an address that its code tells; else 0. Context: signal-safe.
 * arch_ruby_is_pushing(const uint8_t *code, unsigned bytes) -> bool
 *                 has YJIT's code made a control frame the innermost that it goes on to fill in?
 *                 Context: signal-safe.
 */
#ifndef ARCH_RUBY_H
#define ARCH_RUBY_H

#include <arch_ruby.h>

#if !defined(ARCH_RUBY_HAS_YJIT) || !defined(ARCH_RUBY_SLOTS)
#error "arch_ruby.h lacks a primitive"
#endif

#endif
