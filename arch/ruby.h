/* SPDX-License-Identifier: MIT */
/*
 * What Ruby's machine code says: where it has its vm, its table of symbols and its evaluator, and
 * how YJIT lays out the one stack frame that its code has. Chosen by include path:
 * arch/<cpu>/arch_ruby.h supplies everything named below.
 *
 * ARCH_RUBY_IS_KNOWN    0: Ruby's structures have other offsets on this CPU, which nothing has
 *                       checked, and none of what follows is asked for
 * ARCH_RUBY_LOAD_BYTES  of a function that arch_ruby_loaded() looks at
 * ARCH_RUBY_CALL_BYTES  of a call of a function whose address is in the code
 * ARCH_RUBY_CALL_STEP   how far apart instructions may begin
 * ARCH_RUBY_HAS_YJIT    0: YJIT is not built for this CPU
 * ARCH_RUBY_CODE_BYTES  of code from the pc on that arch_ruby_is_pushing() looks at
 * ARCH_RUBY_SLOTS       where the return address may be, in bytes from the stack pointer, the
 *                       likeliest first
 * arch_ruby_loaded(const uint8_t *code, uintptr_t address) -> uintptr_t
 *                 the address that the function at @address, whose first bytes are @code, loads
 *                 from in its first instruction; 0: that is another instruction.
 *                 Context: signal-safe.
 * arch_ruby_target(const uint8_t *code, uintptr_t address) -> uintptr_t
 *                 the address that the ARCH_RUBY_CALL_BYTES of @code, which are at @address, call
 *                 or jump to; 0: they do not. Where instructions have any length, @code may be the
 *                 middle of one. Context: signal-safe.
 * arch_ruby_is_pushing(const uint8_t *code, unsigned bytes) -> bool
 *                 has YJIT's code made a control frame the innermost that it goes on to fill in?
 *                 Context: signal-safe.
 */
#ifndef ARCH_RUBY_H
#define ARCH_RUBY_H

#include <arch_ruby.h>

#if !defined(ARCH_RUBY_IS_KNOWN) || !defined(ARCH_RUBY_HAS_YJIT) || !defined(ARCH_RUBY_SLOTS)
#error "arch_ruby.h lacks a primitive"
#endif

#endif
