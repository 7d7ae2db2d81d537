/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: the writing side of a sample ring. */
/*
 * Write to a thread's sample ring. Only the ring's own thread writes to it, either in the handler
 * or with all signals blocked. Records are built in place: begin, fill in, commit. A writer that is
 * killed in between leaves WIRE_HEAD_WRITING set and the head's end unchanged. The layout is in
 * wire.h.
 *
 * Context of all functions: signal-safe, the thread that owns the ring.
 */
#ifndef LIBPROF_SAMPLER_RING_H
#define LIBPROF_SAMPLER_RING_H

#include <stdint.h>

#include "libprof/sampler/sampler.h"
#include "libprof/wire.h"

/* ---- sample records -------------------------------------------------------------------------- */

/*
 * Begin a record that needs at least @least bytes (at most WIRE_RECORD_MAX). Sets *@room to the
 * number of bytes that it may use. If the record needs more, call this again with a larger @least
 * instead of ring_commit().
 *
 * Returns the record. Returns NULL, with nothing begun, if no block is free or the thread has more
 * than sampler.ring_bytes unread.
 */
struct wire_sample *ring_begin(struct sampler_thread *thread, uint32_t least, uint32_t *room);

/* Publish the record of @bytes bytes: a multiple of 8, at most *@room of ring_begin(). */
void ring_commit(struct sampler_thread *thread, uint32_t bytes);

/* Discard a record that was begun and not committed, if there is one. */
void ring_abandon(struct sampler_thread *thread);

/* Returns 1 if the ring has no block and so may be released at once. */
int ring_is_empty(const struct sampler_thread *thread);

/* ---- control records ------------------------------------------------------------------------- */

/*
 * Reserve @bytes (a multiple of 8, at most WIRE_CONTROL_BYTES / 2) in the control ring of @slot,
 * whose data begins at @data. Then fill in the record behind its struct wire_control and call
 * control_commit().
 *
 * Returns the record, or NULL if the ring is full, which is counted in slot->control_dropped.
 * Context: signal-safe, any thread; never waits.
 */
struct wire_control *control_reserve(struct wire_slot *slot, char *data, uint32_t bytes);

/* Make a reserved record of @bytes visible to the reader. */
void control_commit(struct wire_control *record, uint32_t bytes, enum wire_control_type type);

#endif
