/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: the handler's own steps. */
/*
 * What the handler and what a thread records by itself have in common. A ring has one writer:
 * outside of the handler signals are blocked from ring_begin() to ring_commit().
 */
#ifndef LIBPROF_SAMPLER_HANDLER_H
#define LIBPROF_SAMPLER_HANDLER_H

#include <stdint.h>

#include "arch/registers.h"
#include "libprof/sampler/sampler.h"
#include "libprof/unwind/unwind.h"

/* What a record of so many frames takes, and how many one in @room bytes has room for. */
static inline uint32_t record_bytes(unsigned frames)
{
	return (uint32_t)(sizeof(struct wire_sample) + frames * sizeof(uint64_t));
}

static inline unsigned record_frames(uint32_t room)
{
	return (unsigned)((room - sizeof(struct wire_sample)) / sizeof(uint64_t));
}

/*
 * The calling thread's native stack from @registers on, innermost first, at most @room frames;
 * modules and stubs met for the first time are announced.
 */
struct unwind_result record_walk(struct sampler_thread *thread,
	const struct arch_registers *registers, uint64_t *frames, unsigned room);

/* A record of @bytes found no room: count it, and wake the reader. */
void record_dropped(uint32_t bytes);

#endif
