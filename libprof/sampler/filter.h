/* SPDX-License-Identifier: MIT */
/*
 * What a seccomp filter, a classic BPF program, would say of a system call that is not made yet.
 * Source: seccomp(2); Linux kernel/seccomp.c, seccomp_check_filter() for what may stand in one.
 */
#ifndef LIBPROF_SAMPLER_FILTER_H
#define LIBPROF_SAMPLER_FILTER_H

#include <stdint.h>

#include "libprof/unwind/memory.h"

/* A filter in the program's memory, which may not be there: it is read as the kernel would. */
struct filter {
	uintptr_t code; /* of struct sock_filter */
	uint32_t length;
	/* a part that was to be read is not there: the kernel will refuse it */
	uint32_t has_holes;
	struct unwind_window window;
};

/* As far as it is known what it will be: an address is not, nor is what calls it. */
struct filter_call {
	uint32_t number;
	uint32_t known; /* bit i: args[i] is */
	uint64_t args[6];
};

/*
 * The filter that the struct sock_fprog at @program describes.
 * @pid  the process, as it sees itself; 0: without process_vm_readv(2), word by word.
 * Returns 0, or -EFAULT when it cannot be read. Context: signal-safe.
 */
int filter_open(struct filter *filter, uintptr_t program, int pid);

/*
 * Will @call run, whatever is not known of it? What is refused, logged or shown to somebody does
 * not count. Returns 1 or 0, which it also is where that is too hard to tell.
 * Context: signal-safe; 4 KB of stack.
 */
int filter_allows(struct filter *filter, const struct filter_call *call);

/*
 * The filter at @program (struct sock_fprog, perhaps no such address) is about to come. Sampling
 * goes on without what it forbids, or ends.
 * Returns 1 when it goes on and counts on the filter. Context: any thread, not a handler.
 */
int confined_add_filter(uintptr_t program);

/* The kernel refused that filter. What it would forbid is left out all the same. */
void confined_remove_filter(void);

#endif
