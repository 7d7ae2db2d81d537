/* SPDX-License-Identifier: MIT */
/*
 * LuaJIT's interpreter, which is written in assembly: its stack frame, the registers that it has
 * its state in, and where it has them there. Chosen by include path: arch/<cpu>/arch_luajit.h
 * supplies everything named below.
 *
 * ARCH_LUAJIT_IS_KNOWN  0: it is not on this CPU, and none of what follows is asked for
 * ARCH_LUAJIT_BASE, _PC, _DISPATCH, _CALLED
 *                      DWARF numbers of the registers that have the function's base, its next
 *                      instruction and the dispatch table; and of the one that has the state, or
 *                      the base, where the interpreter calls C
 * ARCH_LUAJIT_BYTES    of its frame, with the return address
 * ARCH_LUAJIT_RESULTS, _STATE, _SAVED, _PREVIOUS
 *                      in bytes from the stack pointer: of the results that are wanted, < 0: none
 *                      of the state's functions is its; the state; the instruction; the state's
 *                      frame outside of this one
 * ARCH_LUAJIT_BEFORE, ARCH_LUAJIT_CODE_BYTES
 *                      of code that is looked at: in front of the pc, and in all
 * arch_luajit_links(const uint8_t *code) -> bool
 *                      this instruction notes for the function that is called who called it: the
 *                      base is its own already
 * ARCH_LUAJIT_SET_BYTES, arch_luajit_sets(const uint8_t *code, int32_t offset, int32_t value)
 *                      -> bool
 *                      this one sets what is @offset bytes from the dispatch table to @value
 * arch_luajit_has_base(const uint8_t *code, int32_t low, int32_t high) -> bool
 *                      of ARCH_LUAJIT_CODE_BYTES: the register has the base at the pc, C is not
 * about to be called, nor has it just returned. The interpreter is from @low to @high, from the pc.
 * May say no where it has.
 *
 * Context: signal-safe.
 */
#ifndef ARCH_LUAJIT_H
#define ARCH_LUAJIT_H

#include <arch_luajit.h>

#ifndef ARCH_LUAJIT_IS_KNOWN
#error "arch_luajit.h lacks a primitive"
#endif

#endif
