/* SPDX-License-Identifier: MIT */
/* A virtual machine's stack, from words to a record. */
#ifndef LIBPROF_VMSTACK_WRITE_H
#define LIBPROF_VMSTACK_WRITE_H

#include <stdint.h>

struct sampler_thread;

struct vm_stack {
	struct sampler_thread *thread; /* the calling one */
	uintptr_t caller;	       /* return address of who recorded it */
	const uint64_t *words;	       /* frames, innermost first */
	uint32_t count;
	uint32_t weight;
	uint8_t end;  /* enum wire_end: of the words */
	int is_above; /* native frames follow the words, from the caller's on */
};

/*
 * Write @stack into its thread's ring, all signals blocked meanwhile.
 * Returns 0; -ENOSPC when the ring is too full: counted; -ESRCH when the thread is no longer
 * sampled. Context: the thread itself, not a handler; function_announce() was called for all words.
 */
int vm_stack_write(const struct vm_stack *stack);

#endif
