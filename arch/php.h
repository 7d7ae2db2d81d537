/* SPDX-License-Identifier: MIT */
/*
 * Machine code of PHP: opcache's JIT compiler, whose code runs in the stack frame of the
 * interpreter's function, and fibers. Selected by include path: arch/<cpu>/arch_php.h defines all
 * names below.
 *
 * ARCH_PHP_RETURNS_BYTES
 *                      bytes of a function that arch_php_returned() reads
 * arch_php_returned(const uint8_t *code) -> uint32_t
 *                      Return the constant that the function with this code returns, or 0 if the
 *                      function does anything else.
 *
 * ARCH_PHP_HAS_JIT     0: the JIT is unknown on this CPU; the next names are not used then
 * ARCH_PHP_CODE_BYTES  bytes of a function that arch_php_find_buffer() reads
 * arch_php_find_buffer(const uint8_t *code, uintptr_t address, uintptr_t *start, uintptr_t *bytes)
 *                      -> int
 *                      @code is opcache's zend_jit_unprotect() at @address. Find the addresses of
 *                      the variables with the JIT buffer's start and size. Returns 0 or -ENOENT.
 * arch_php_pushed(const struct arch_text *text, uintptr_t pc) -> uint32_t
 *                      Return how many bytes JIT code has pushed below the interpreter's frame
 *                      when it is at @pc; return addresses of subroutines are not counted.
 *
 * ARCH_PHP_HAS_FIBERS  0: unknown on this CPU; the next names are not used then
 * ARCH_PHP_LEFT_PC, ARCH_PHP_LEFT_FP
 *                      where a fiber that is not running has saved its pc and frame pointer:
 *                      offsets in bytes from its handle, which is its stack pointer
 * ARCH_PHP_LEFT_BYTES  bytes from the handle up to the stack pointer after the fiber is resumed
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
