/* SPDX-License-Identifier: MIT */
/*
 * Raw system calls: no errno, no cancellation point, no libc. Chosen by include path:
 * arch/<cpu>/arch_syscall.h supplies ARCH_AUDIT, arch_syscall6(), arch_spawn_vm() and
 * arch_syscall_before().
 */
#ifndef ARCH_SYSCALL_H
#define ARCH_SYSCALL_H

#include <stdint.h>
#include <sys/syscall.h>

#include <arch_syscall.h>

/*
 * arch_syscall6(long nr, long a, long b, long c, long d, long e, long f) -> long
 *     The kernel's answer: >= 0, or -errno. Context: signal-safe.
 *
 * arch_spawn_vm(unsigned long flags, void *stack_top, void (*entry)(void *), void *argument)
 *     -> long. clone(2) with a stack of its own: the child runs entry(argument) on @stack_top
 *     (16-byte aligned, one past the end) and must not return. The parent gets the child's pid or
 *     -errno. The child shares the parent's thread pointer: it must not touch thread-local storage.
 *     Context: signal-safe.
 *
 * arch_syscall_before(const uint8_t *code, unsigned bytes) -> long
 *     The number of the system call that the last instruction of @code makes;
 *     ARCH_SYSCALL_NUMBERLESS when the code just before does not show it, -1 when it makes none.
 */
#define arch_syscall0(nr)             arch_syscall6(nr, 0, 0, 0, 0, 0, 0)
#define arch_syscall1(nr, a)          arch_syscall6(nr, (long)(a), 0, 0, 0, 0, 0)
#define arch_syscall2(nr, a, b)       arch_syscall6(nr, (long)(a), (long)(b), 0, 0, 0, 0)
#define arch_syscall3(nr, a, b, c)    arch_syscall6(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define arch_syscall4(nr, a, b, c, d) \
	arch_syscall6(nr, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

#endif
