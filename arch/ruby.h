/* SPDX-License-Identifier: MIT */
/*
 * Machine code of Ruby: how to find its vm, its symbol table and its evaluator, and the stack frame
 * of YJIT's code. Selected by include path: arch/<cpu>/arch_ruby.h defines all names below.
 *
 * ARCH_RUBY_IS_KNOWN    0: the offsets in Ruby's structures were not checked on this CPU; the other
 *                       names are not used then
 * ARCH_RUBY_LOAD_BYTES  bytes of a function that arch_ruby_loaded() reads
 * ARCH_RUBY_CALL_BYTES  size of a direct call
 * ARCH_RUBY_CALL_STEP   alignment of instructions
 * ARCH_RUBY_HAS_YJIT    0: YJIT does not exist on this CPU
 * ARCH_RUBY_CODE_BYTES  bytes of code from the pc on that arch_ruby_is_pushing() reads
 * ARCH_RUBY_SLOTS       possible offsets of the return address from the stack pointer, in bytes,
 *                       the likeliest first
 * arch_ruby_loaded(const uint8_t *code, uintptr_t address) -> uintptr_t
 *                 If the first instruction of the function at @address loads an address, or loads
 *                 from an address, return that address; else 0. Context: signal-safe.
 * arch_ruby_target(const uint8_t *code, uintptr_t address) -> uintptr_t
 *                 Return the target if the ARCH_RUBY_CALL_BYTES bytes @code at @address are a
 *                 direct call or jump, else 0. If instructions vary in length, @code may begin
 *                 inside an instruction and the result may be wrong. Context: signal-safe.
 * arch_ruby_is_pushing(const uint8_t *code, unsigned bytes) -> bool
 *                 Has YJIT's code made a new control frame the innermost, but not filled it in yet?
 *                 Context: signal-safe.
 */
#ifndef ARCH_RUBY_H
#define ARCH_RUBY_H

#include <arch_ruby.h>

#if !defined(ARCH_RUBY_IS_KNOWN) || !defined(ARCH_RUBY_HAS_YJIT) || !defined(ARCH_RUBY_SLOTS)
#error "arch_ruby.h lacks a primitive"
#endif

#endif
