/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: parts of the handler. */
/*
 * Functions for the two kinds of records in a thread's ring: samples of the handler, and stacks
 * that the thread reports itself. A ring has one writer: code outside of the handler must block all
 * signals from ring_begin() to ring_commit().
 */
#ifndef LIBPROF_SAMPLER_HANDLER_H
#define LIBPROF_SAMPLER_HANDLER_H

#include <stdint.h>

#include "arch/registers.h"
#include "libprof/sampler/sampler.h"
#include "libprof/unwind/unwind.h"

/*
 * record_bytes() returns the size of a record with @frames frames; record_frames() returns the
 * number of frames for which a record of @room bytes has room.
 */
static inline uint32_t record_bytes(unsigned frames)
{
	return (uint32_t)(sizeof(struct wire_sample) + frames * sizeof(uint64_t));
}

static inline unsigned record_frames(uint32_t room)
{
	return (unsigned)((room - sizeof(struct wire_sample)) / sizeof(uint64_t));
}

/*
 * Walk the calling thread's native stack from @registers on into @frames, innermost first, at most
 * @room frames. Modules and stubs that are seen for the first time are announced in the control
 * ring.
 */
struct unwind_result record_walk(struct sampler_thread *thread,
	const struct arch_registers *registers, uint64_t *frames, unsigned room);

/* Count a record of @bytes that found no room, and wake the reader. */
void record_dropped(uint32_t bytes);

#endif
