/* SPDX-License-Identifier: MIT */
/*
 * Predict what a seccomp filter, a classic BPF program, returns for a system call that has not been
 * made yet.
 * Source: seccomp(2); Linux kernel/seccomp.c, seccomp_check_filter() for the allowed instructions.
 */
#ifndef LIBPROF_SAMPLER_FILTER_H
#define LIBPROF_SAMPLER_FILTER_H

#include <stdint.h>

#include "libprof/unwind/memory.h"

/* A filter in the program's memory. The memory may be invalid, so it is read without faults. */
struct filter {
	uintptr_t code; /* address of struct sock_filter[] */
	uint32_t length;
	/* Set if an instruction could not be read. The kernel will then refuse the filter. */
	uint32_t has_holes;
	struct unwind_window window;
};

/*
 * A system call, as far as it is known in advance. Addresses and the calling instruction are
 * unknown.
 */
struct filter_call {
	uint32_t number;
	uint32_t known; /* bit i: args[i] is known */
	uint64_t args[6];
};

/*
 * Prepare to read the filter that the struct sock_fprog at @program describes.
 * @pid  the process, as it sees itself; 0: do not use process_vm_readv(2), read word by word
 * Returns 0, or -EFAULT if the struct cannot be read. Context: signal-safe.
 */
int filter_open(struct filter *filter, uintptr_t program, int pid);

/*
 * Returns 1 if the filter allows @call whatever its unknown values are. Returns 0 if the call may
 * be refused, logged, or reported to a tracer or supervisor, or if the filter is too complex to
 * decide. Context: signal-safe; 4 KB of stack.
 */
int filter_allows(struct filter *filter, const struct filter_call *call);

/*
 * Prepare for the installation of the filter at @program (struct sock_fprog; may be an invalid
 * address): leave out the parts of sampling that the filter will forbid, or end sampling if it
 * forbids an indispensable part. Returns 1 if sampling continues and the filter was counted.
 * Context: any thread, not a handler.
 */
int confined_add_filter(uintptr_t program);

/*
 * Subtract the filter from the count again, because the kernel has refused it. The parts of
 * sampling that were left out for this filter stay left out.
 */
void confined_remove_filter(void);

#endif
