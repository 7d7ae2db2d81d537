/* SPDX-License-Identifier: MIT */
/*
 * What the kernel was doing when perf events looked at a thread: records of one event, in memory
 * that the kernel shares with us.
 *
 * Each event also signals the thread, whose handler takes its stack when the thread leaves the
 * kernel. So what the event saw since the thread's sample before, at the instruction where the
 * sample was taken, is the rest of that sample's stack.
 *
 * Context: one thread.
 */
#ifndef CLI_GATHER_KERNEL_STACKS_H
#define CLI_GATHER_KERNEL_STACKS_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

/* As the kernel has it at the most, kernel.perf_event_max_stack, unless somebody raised that. */
#define KERNEL_STACK_FRAMES 127u

/* All zero: there are none. */
struct kernel_stacks {
	char *pages; /* owned: struct perf_event_mmap_page, then the records */
	size_t bytes; /* of the records; a power of two */
};

/* One look. */
struct kernel_stack {
	uint64_t user_pc; /* where the thread left its own code, or was in it; 0: not known */
	uint32_t count;	  /* 0: it was in its own code */
	uint64_t frame[KERNEL_STACK_FRAMES]; /* addresses to look up, innermost first */
};

/* Have the event of @attributes, not yet opened, write such records. */
void kernel_stacks_ask(struct perf_event_attr *attributes);

/*
 * Map the records of event @fd, at @rate_hz. Returns 0, or -errno: -EPERM where no more memory may
 * be locked, kernel.perf_event_mlock_kb.
 */
int kernel_stacks_open(struct kernel_stacks *stacks, int fd, uint32_t rate_hz);
void kernel_stacks_close(struct kernel_stacks *stacks);

/* The next look, if it was not after @until_ns, CLOCK_MONOTONIC. Returns 1 with it in @out, or 0. */
int kernel_stacks_next(
	const struct kernel_stacks *stacks, uint64_t until_ns, struct kernel_stack *out);

#endif
