/* SPDX-License-Identifier: MIT */
/*
 * LuaJIT's interpreter, which is written in assembly: its stack frame, the registers with its
 * state, and at which pcs they hold that state. Selected by include path: arch/<cpu>/arch_luajit.h
 * defines all names below.
 *
 * ARCH_LUAJIT_IS_KNOWN  0: unknown on this CPU; the other names are not used then
 * ARCH_LUAJIT_BASE, _PC, _DISPATCH, _CALLED
 *                      DWARF numbers of the registers with the function's base, its next bytecode
 *                      instruction, the dispatch table; and, during a call of C, the lua_State or
 *                      the base
 * ARCH_LUAJIT_BYTES    size of the interpreter's frame with the return address
 * ARCH_LUAJIT_RESULTS, _STATE, _SAVED, _PREVIOUS
 *                      offsets in bytes from the stack pointer of: the number of wanted results
 *                      (negative if the frame executes no function of the lua_State); the
 *                      lua_State; the saved bytecode instruction; the next outer frame of the
 *                      lua_State
 * ARCH_LUAJIT_BEFORE, ARCH_LUAJIT_CODE_BYTES
 *                      bytes of code to read: before the pc, and in total
 * arch_luajit_links(const uint8_t *code) -> bool
 *                      Does this instruction store a called function's link to its caller? Then the
 *                      base register already belongs to the called function.
 * ARCH_LUAJIT_SET_BYTES, arch_luajit_sets(const uint8_t *code, int32_t offset, int32_t value)
 *                      -> bool
 *                      Does this instruction store @value at @offset bytes from the dispatch table?
 * arch_luajit_has_base(const uint8_t *code, int32_t low, int32_t high) -> bool
 *                      Does the base register hold the base at the pc? It does not if a C function
 *                      is about to be called or has just returned. @code has
 *                      ARCH_LUAJIT_CODE_BYTES; the interpreter's code extends from @low to @high,
 *                      relative to the pc. If in doubt, the result is false.
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
