/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: the handler's own steps. */
/*
 * Filling a sample ring, for the handler and for what a thread records by itself. A ring has one
 * writer: outside of the handler signals are blocked from ring_begin() to ring_commit().
 */
#ifndef LIBPROF_SAMPLER_RECORD_H
#define LIBPROF_SAMPLER_RECORD_H

#include <stdint.h>

#include "arch/registers.h"
#include "libprof/sampler/sampler.h"
#include "libprof/unwind/unwind.h"

/* How many frames one record can have next to what the reader has not taken yet. */
unsigned record_frames_that_fit(const struct sampler_thread *thread);

/*
 * The calling thread's native stack from @registers on, innermost first, at most @room frames;
 * modules and stubs met for the first time are announced.
 */
struct unwind_result record_walk(struct sampler_thread *thread,
	const struct arch_registers *registers, uint64_t *frames, unsigned room);

/* A record was written, or dropped when @is_full: count it, and wake the reader in time. */
void record_done(struct sampler_thread *thread, int is_full);

#endif
