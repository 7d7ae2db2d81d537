/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: the writing side of a sample ring. */
/*
 * A ring has one writer, its thread: the handler, or code that runs with all signals blocked.
 * Records are built in place: begin, fill in, commit. A writer that is killed in between leaves
 * WIRE_HEAD_WRITING set and the head's end unchanged. The layout is in wire.h.
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
 * Begin a record that needs at least @least bytes (at most WIRE_RECORD_MAX). *@room: how many it
 * may have. Call it again instead of ring_commit() if the record needs more.
 *
 * Returns the record, or NULL with nothing begun: no block is free, or the thread has more than
 * sampler.ring_bytes unread.
 */
struct wire_sample *ring_begin(struct sampler_thread *thread, uint32_t least, uint32_t *room);

/* Publish the record, which has @bytes bytes: a multiple of 8, at most *@room. */
void ring_commit(struct sampler_thread *thread, uint32_t bytes);

/* Discard the record that was begun, if any. */
void ring_abandon(struct sampler_thread *thread);

/* Does the ring have no block? Then it may be released at once. */
int ring_is_empty(const struct sampler_thread *thread);

/* ---- control records ------------------------------------------------------------------------- */

/*
 * Reserve @bytes (a multiple of 8, at most WIRE_CONTROL_BYTES / 2) in the control ring of @slot,
 * whose data begins at @data. Fill in everything behind struct wire_control, then call
 * control_commit().
 *
 * Returns the record, or NULL if the ring is full, which is counted in slot->control_dropped.
 * Context: signal-safe, any thread; never waits.
 */
struct wire_control *control_reserve(struct wire_slot *slot, char *data, uint32_t bytes);

/* Make a reserved record visible. */
void control_commit(struct wire_control *record, uint32_t bytes, enum wire_control_type type);

#endif
