/* SPDX-License-Identifier: MIT */
/*
 * Record kernel stacks of a thread with a perf event. The event writes the kernel's stack, the user
 * registers and the innermost bytes of the user stack to memory shared with flamerun. From the
 * registers and bytes, flamerun can unwind the user stack.
 *
 * The event sends no signal, because a signal changes the result of the system call that it
 * interrupts: reads are cut short and waits end. So these stacks are not samples and have no
 * weight. They only show how to divide the time of samples in the kernel among kernel functions.
 * Context: one thread.
 */
#ifndef CLI_GATHER_KERNEL_STACKS_H
#define CLI_GATHER_KERNEL_STACKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/registers.h"

/* The default of the sysctl kernel.perf_event_max_stack. */
#define KERNEL_STACK_FRAMES 127u
/* Bytes of the user stack that the event copies, beginning at the stack pointer. */
#define KERNEL_STACK_BYTES 8192u

/* A perf event and its ring buffer. All members are zero if no event is open. */
struct kernel_stacks {
	/* Owned mapping: one page with a struct perf_event_mmap_page, then the records. */
	char *pages;
	size_t bytes; /* of records, a power of two */
	int descriptor;
};

/* One recorded stack. */
struct kernel_stack {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t count;
	/* Kernel addresses, innermost first; in callers, inside the call instruction. */
	uint64_t frame[KERNEL_STACK_FRAMES];
	/* of user mode, when the thread entered the kernel */
	struct arch_registers registers;
	/* Number of valid bytes in `stack`. stack[0] is the byte at the stack pointer. */
	uint32_t bytes;
	char stack[KERNEL_STACK_BYTES];
};

/*
 * Begin to record kernel stacks of thread @tid (0: the calling thread). After each @period_ns of
 * CPU time of the thread, its stack is recorded if the thread is in the kernel then. Returns 0, or
 * -errno: -EACCES if kernel.perf_event_paranoid forbids it; -EPERM for the same reason, or because
 * the buffer exceeds kernel.perf_event_mlock_kb. Source: perf_event_open(2)
 */
int kernel_stacks_open(struct kernel_stacks *stacks, pid_t tid, uint64_t period_ns);
void kernel_stacks_close(struct kernel_stacks *stacks);

/* Read the next recorded stack into @out. Returns 1, or 0 if there is none. */
int kernel_stacks_next(const struct kernel_stacks *stacks, struct kernel_stack *out);

#endif
