/* SPDX-License-Identifier: MIT */
/*
 * What PHP's machine code tells: of opcache's JIT compiler, whose code runs in the stack frame of
 * the interpreter's function, and of fibers. Chosen by include path: arch/<cpu>/arch_php.h supplies
 * everything named below.
 *
 * ARCH_PHP_RETURNS_BYTES
 *                      how many bytes of a function arch_php_returned() reads
 * arch_php_returned(const uint8_t *code) -> uint32_t
 *                      the number that the function with this code returns; 0: the function does
 *                      something else
 *
 * ARCH_PHP_HAS_JIT     0: it is not known on this CPU, and none of what follows is asked for
 * ARCH_PHP_CODE_BYTES  of a function that arch_php_find_buffer() looks at
 * arch_php_find_buffer(const uint8_t *code, uintptr_t address, uintptr_t *start, uintptr_t *bytes)
 *                      -> int
 *                      opcache's zend_jit_unprotect() is at @address: where the variables lie that
 *                      say where the compiler's buffer is and how large. Returns 0 or -ENOENT.
 * arch_php_pushed(const struct arch_text *text, uintptr_t pc) -> uint32_t
 *                      how many bytes the compiler's code has on the stack, at @pc, below the
 *                      interpreter's frame, but for subroutines.
 *
 * ARCH_PHP_HAS_FIBERS  0: how a stack is left is not known, and none of what follows is asked for
 * ARCH_PHP_LEFT_PC, ARCH_PHP_LEFT_FP
 *                      where a stack that was left has the pc and the frame pointer to go on with,
 *                      in bytes from its handle, which is the stack pointer then
 * ARCH_PHP_LEFT_BYTES  from there to the stack pointer to go on with
 *
 * Context: signal-safe.
 */
#ifndef ARCH_PHP_H
#define ARCH_PHP_H

#include <arch_php.h>

#if !defined(ARCH_PHP_RETURNS_BYTES) || !defined(ARCH_PHP_HAS_JIT) || !defined(ARCH_PHP_HAS_FIBERS)
#error "arch_php.h lacks a primitive"
#endif

#endif
