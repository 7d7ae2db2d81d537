/* SPDX-License-Identifier: MIT */
/*
 * What the kernel does for a thread, by a perf event that looks at it there and writes what it saw
 * into memory that the kernel shares with us: the kernel's stack, and of the program's the
 * registers and the innermost words, from which it can be walked.
 *
 * The event signals nobody. A signal that finds a thread in the kernel changes what its system call
 * returns: reads are cut short, waits broken off. So these looks are no samples; they tell what the
 * time is spent on that samples find in the kernel.
 *
 * Context: one thread.
 */
#ifndef CLI_GATHER_KERNEL_STACKS_H
#define CLI_GATHER_KERNEL_STACKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/registers.h"

/* As the kernel has it at the most, kernel.perf_event_max_stack, unless somebody raised that. */
#define KERNEL_STACK_FRAMES 127u
/* Of the program's stack. What lies further out is not known of such a stack. */
#define KERNEL_STACK_BYTES 8192u

/* All zero: there are none. */
struct kernel_stacks {
	char *pages; /* owned: struct perf_event_mmap_page, then the records */
	size_t bytes; /* of the records; a power of two */
	int descriptor;
};

/* One look. */
struct kernel_stack {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t count;
	uint64_t frame[KERNEL_STACK_FRAMES]; /* addresses to look up, innermost first */
	struct arch_registers registers;     /* with which it entered the kernel */
	uint32_t bytes;			     /* of its stack, from its stack pointer on */
	char stack[KERNEL_STACK_BYTES];
};

/*
 * Look at thread @tid, 0 for the caller, each @period_ns that it runs, if it is in the kernel then.
 * Returns 0, or -errno: -EACCES by kernel.perf_event_paranoid, -EPERM also where no more memory may
 * be locked, kernel.perf_event_mlock_kb.
 */
int kernel_stacks_open(struct kernel_stacks *stacks, pid_t tid, uint64_t period_ns);
void kernel_stacks_close(struct kernel_stacks *stacks);

/* The next look. Returns 1 with it in @out, or 0: there is none. */
int kernel_stacks_next(const struct kernel_stacks *stacks, struct kernel_stack *out);

#endif
