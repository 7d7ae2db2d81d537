/* SPDX-License-Identifier: MIT */
/*
 * Which functions a piece of machine code calls: Lua's interpreter has no name, but callers. Chosen
 * by include path: arch/<cpu>/arch_lua.h supplies everything named below.
 *
 * ARCH_CALL_BYTES  of a call of a function whose address is in the code
 * ARCH_CALL_STEP   how far apart instructions may begin
 * arch_called(const uint8_t *code, uintptr_t address) -> uintptr_t
 *                  what the ARCH_CALL_BYTES of @code, which are at @address, call; 0: they are none
 *                  such. Where instructions have any length it may be the middle of one.
 *                  Context: signal-safe.
 */
#ifndef ARCH_LUA_H
#define ARCH_LUA_H

#include <arch_lua.h>

#if !defined(ARCH_CALL_BYTES) || !defined(ARCH_CALL_STEP)
#error "arch_lua.h lacks a primitive"
#endif

#endif
