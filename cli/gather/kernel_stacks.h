/* SPDX-License-Identifier: MIT */
/*
 * Record what the kernel does for a thread by a perf event, which writes the kernel's stack, the
 * user registers and the innermost bytes of the user stack to memory shared with flamerun. From
 * these the user stack can be unwound.
 *
 * The event sends no signal, because a signal in the kernel changes what a system call returns:
 * reads are cut short and waits are interrupted. These stacks are therefore no samples and have no
 * weight. They show what the kernel does in the time that samples find in the kernel. Context: one
 * thread.
 */
#ifndef CLI_GATHER_KERNEL_STACKS_H
#define CLI_GATHER_KERNEL_STACKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/registers.h"

/* default of kernel.perf_event_max_stack */
#define KERNEL_STACK_FRAMES 127u
/* bytes of the user stack; the stack beyond them is not recorded */
#define KERNEL_STACK_BYTES 8192u

/* A perf event and its buffer; all zero if there is none. */
struct kernel_stacks {
	char *pages; /* owned: struct perf_event_mmap_page, then the records */
	size_t bytes; /* size of the records, a power of two */
	int descriptor;
};

/* One recorded stack. */
struct kernel_stack {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t count;
	uint64_t frame[KERNEL_STACK_FRAMES]; /* addresses of calls in the kernel, innermost first */
	struct arch_registers registers;     /* user registers at the entry to the kernel */
	/* valid in `stack`, which begins at the stack pointer */
	uint32_t bytes;
	char stack[KERNEL_STACK_BYTES];
};

/*
 * Begin to record thread @tid (0: the caller) at the end of each @period_ns of its CPU time, if it
 * is in the kernel then. Returns 0, or -errno: -EACCES by kernel.perf_event_paranoid; -EPERM also
 * if the memory exceeds kernel.perf_event_mlock_kb.
 * Source: perf_event_open(2)
 */
int kernel_stacks_open(struct kernel_stacks *stacks, pid_t tid, uint64_t period_ns);
void kernel_stacks_close(struct kernel_stacks *stacks);

/* Read the next recorded stack. Returns 1 with it in @out, or 0 if there is none. */
int kernel_stacks_next(const struct kernel_stacks *stacks, struct kernel_stack *out);

#endif
