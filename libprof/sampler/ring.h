/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: the writing side of a sample ring. */
/*
 * One writer (the owning thread's handler), one reader. Records are built in place: begin, fill,
 * commit. A writer killed in between leaves `writing` set and the head where it was.
 */
#ifndef LIBPROF_SAMPLER_RING_H
#define LIBPROF_SAMPLER_RING_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/wire.h"

/*
 * Begin a record of up to @bytes. Returns where to build it, or NULL when the reader is behind.
 * Context: signal-safe; only the owning thread.
 */
static inline struct wire_sample *ring_begin(struct wire_ring *ring, char *data, uint64_t bytes)
{
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
	uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);

	if (head + bytes - tail > WIRE_RING_SPAN)
		return NULL;
	__atomic_store_n(&ring->writing, 1, __ATOMIC_RELAXED);
	return (struct wire_sample *)(data + head % WIRE_RING_SPAN);
}

/* Publish the record begun, @bytes long (a multiple of 8, at most what was asked for). */
static inline void ring_commit(struct wire_ring *ring, uint32_t bytes)
{
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);

	__atomic_store_n(&ring->head, head + bytes, __ATOMIC_RELEASE);
	__atomic_store_n(&ring->writing, 0, __ATOMIC_RELAXED);
}

/* Bytes committed and not yet consumed. */
static inline uint64_t ring_fill(const struct wire_ring *ring)
{
	return __atomic_load_n(&ring->head, __ATOMIC_RELAXED) -
		__atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
}

#endif
