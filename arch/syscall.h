/* SPDX-License-Identifier: MIT */
/*
 * Raw system calls, without errno, cancellation or libc. Selected by include path:
 * arch/<cpu>/arch_syscall.h defines ARCH_AUDIT, arch_syscall6(), arch_spawn_vm() and
 * arch_syscall_before().
 */
#ifndef ARCH_SYSCALL_H
#define ARCH_SYSCALL_H

#include <stdint.h>
#include <sys/syscall.h>

#include <arch_syscall.h>

/*
 * arch_syscall6(long nr, long a, long b, long c, long d, long e, long f) -> long
 *     Make system call @nr. Returns its result, or -errno. Context: signal-safe.
 *
 * arch_spawn_vm(unsigned long flags, void *stack_top, void (*entry)(void *), void *argument)
 *     -> long
 *     Call clone(2). The child runs entry(argument) on its own stack, which ends at @stack_top
 *     (16-byte aligned, one past the end), and must not return. The child has the parent's
 *     thread pointer, so it must not use thread-local storage. Returns the child's pid or
 *     -errno, in the parent. Context: signal-safe.
 *
 * arch_syscall_before(const uint8_t *code, unsigned bytes) -> long
 *     Return the number of the system call that the last instruction of @code makes. Returns
 *     ARCH_SYSCALL_NUMBERLESS if @code does not show the number, and -1 if the last instruction
 *     makes no system call.
 */
#define arch_syscall0(nr)             arch_syscall6(nr, 0, 0, 0, 0, 0, 0)
#define arch_syscall1(nr, a)          arch_syscall6(nr, (long)(a), 0, 0, 0, 0, 0)
#define arch_syscall2(nr, a, b)       arch_syscall6(nr, (long)(a), (long)(b), 0, 0, 0, 0)
#define arch_syscall3(nr, a, b, c)    arch_syscall6(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define arch_syscall4(nr, a, b, c, d) \
	arch_syscall6(nr, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

#endif
