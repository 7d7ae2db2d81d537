/* SPDX-License-Identifier: MIT */
/*
 * Find the number of a system call that pthread_cancel() may interrupt, from the code around it, in
 * glibc 2.41 and later: see cli/symbols/call_number.c. Selected by include path:
 * arch/<cpu>/arch_cancellable.h defines all names below.
 *
 * ARCH_CANCELLABLE      code bytes of glibc's __syscall_cancel_arch() (syscall_cancel.S) that
 *                       move its parameters to the registers of the system call and make the call
 * arch_cancellable_number(const uint8_t *code, unsigned bytes) -> long
 *                       The last instruction of @code calls a function whose seventh parameter is
 *                       the number of a system call: return that constant. Returns
 *                       ARCH_SYSCALL_NUMBERLESS if the code does not show a constant, and -1 if
 *                       @code does not end with a direct call.
 */
#ifndef ARCH_CANCELLABLE_H
#define ARCH_CANCELLABLE_H

#include "arch/code.h"

#include <arch_cancellable.h>

#ifndef ARCH_CANCELLABLE
#error "arch_cancellable.h lacks a primitive"
#endif

#endif
