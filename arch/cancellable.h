/* SPDX-License-Identifier: MIT */
/*
 * How glibc 2.41 and later makes system calls that pthread_cancel() may interrupt: see
 * cli/symbols/call_number.c. Chosen by include path: arch/<cpu>/arch_cancellable.h supplies
 * everything named below.
 *
 * ARCH_CANCELLABLE      the code of glibc's __syscall_cancel_arch (syscall_cancel.S), from where it
 *                       moves its parameters to the registers of the system call up to and
 *                       including the instruction that makes the call
 * arch_cancellable_number(const uint8_t *code, unsigned bytes) -> long
 *                       the last instruction of @code calls a function whose seventh parameter is
 *                       the number of a system call: return that constant. Return
 *                       ARCH_SYSCALL_NUMBERLESS when the caller does not set it to a constant, as
 *                       far as the code shows, and -1 when @code does not end in a direct call.
 */
#ifndef ARCH_CANCELLABLE_H
#define ARCH_CANCELLABLE_H

#include "arch/code.h"

#include <arch_cancellable.h>

#ifndef ARCH_CANCELLABLE
#error "arch_cancellable.h lacks a primitive"
#endif

#endif
