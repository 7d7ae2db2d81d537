/* SPDX-License-Identifier: MIT */
/*
 * How code gets back to its caller, told from its instructions: for code that nothing else is known
 * of. Chosen by include path: arch/<cpu>/arch_epilogue.h supplies everything named below.
 *
 * ARCH_CODE_BEFORE     how many bytes before the pc may tell something
 * arch_find_epilogue(const struct arch_code *code, struct arch_epilogue *out) -> int
 *                      follow the code from its pc, straight ahead, to the return. It believes only
 *                      what it knows every byte of: what is found is what the CPU will do unless it
 *                      branches before, and a branch does not change what is on the stack already.
 *                      Returns 0, or -ENOENT: anything else than a way out. Context: signal-safe.
 * arch_follow_code(const struct arch_text *source, uintptr_t pc, struct arch_epilogue *out) -> int
 *                      the same from anywhere in a function, over whatever instructions, past
 *                      branches that need not be taken: for code that nobody writes anew, since it
 *                      takes long. Returns and context as above.
 * arch_decode(const uint8_t *at, unsigned room) -> struct arch_instruction
 *                      the instruction at @at, of whose bytes @room are there; of 0 bytes when it
 *                      is cut off or not known. Context: signal-safe.
 * arch_follows_call(const struct arch_text *source, uintptr_t pc) -> bool
 *                      does an instruction that calls end at @pc? Context: as @source.
 * ARCH_CALL_BYTES      of a call of a function whose address is in the code
 * ARCH_CALL_STEP       how far apart instructions may begin
 * arch_called(const uint8_t *code, uintptr_t address) -> uintptr_t
 *                      what the ARCH_CALL_BYTES of @code, which are at @address, call; 0: they are
 *                      none such. Where instructions have any length it may be the middle of one.
 *                      Context: signal-safe.
 * arch_is_outermost(const struct arch_code *code) -> bool
 *                      has nothing called the function that goes on at the pc, which its first
 *                      call has returned to? Context: signal-safe.
 * ARCH_ENTRY_CFA       bytes from the stack pointer at a function's entry to its CFA
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
