/* SPDX-License-Identifier: MIT */
/*
 * Find the caller by decoding instructions, for code without call-frame information. Selected by
 * include path: arch/<cpu>/arch_epilogue.h and arch_follow.h define all names below.
 *
 * ARCH_CODE_BEFORE     bytes before the pc that arch_find_epilogue() may need
 * arch_find_epilogue(const struct arch_code *code, struct arch_epilogue *out) -> int
 *                      Decode from the pc straight ahead to the return. Only known
 *                      instructions are accepted. The CPU may branch away before it reaches the
 *                      return, but no accepted branch changes the stack.
 *                      Returns 0, or -ENOENT. Context: signal-safe.
 * arch_follow_code(const struct arch_text *source, uintptr_t pc, struct arch_epilogue *out) -> int
 *                      Find a path from any pc of a function to its return, over all kinds of
 *                      instructions and both ways at conditional branches. Slow: use it only for
 *                      code that does not change, and cache the result.
 *                      Returns 0, or -ENOENT. Context: signal-safe.
 * arch_decode(const uint8_t *at, unsigned room) -> struct arch_instruction
 *                      Decode the instruction at @at, of which @room bytes are readable. Its size
 *                      is 0 if it is cut off or unknown. Context: signal-safe.
 * arch_follows_call(const struct arch_text *source, uintptr_t pc) -> bool
 *                      Does a call instruction end at @pc? Context: that of source->read_word.
 * ARCH_CALL_BYTES      size of a direct call
 * ARCH_CALL_STEP       alignment of instructions
 * arch_called(const uint8_t *code, uintptr_t address) -> uintptr_t
 *                      Return the target if the ARCH_CALL_BYTES bytes @code at @address are a
 *                      direct call, or 0 otherwise. If instructions vary in length, @code may begin
 *                      inside an instruction and the result may be wrong. Context: signal-safe.
 * arch_is_outermost(const struct arch_code *code) -> bool
 *                      Is the pc, a return address, in the outermost function of a stack, which
 *                      has no caller? Context: signal-safe.
 * ARCH_ENTRY_CFA       bytes from the stack pointer at a function's entry up to its CFA
 */
#ifndef ARCH_EPILOGUE_H
#define ARCH_EPILOGUE_H

#include "arch/code.h"

#include <arch_epilogue.h>
#include <arch_follow.h>

#if !defined(ARCH_CODE_BEFORE) || !defined(ARCH_ENTRY_CFA) || !defined(ARCH_CALL_BYTES)
#error "arch_epilogue.h lacks a primitive"
#endif

#endif
