/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: the writing side of a sample ring. */
/*
 * One writer, the thread itself: its handler, or with all signals blocked what it records by
 * itself. Records are built in place: begin, fill, commit. A writer killed in between leaves
 * WIRE_HEAD_WRITING set and the head's end where it was. The layout is in wire.h.
 *
 * Context of all: signal-safe, the thread that owns the ring.
 */
#ifndef LIBPROF_SAMPLER_RING_H
#define LIBPROF_SAMPLER_RING_H

#include <stdint.h>

#include "libprof/sampler/sampler.h"
#include "libprof/wire.h"

/* ---- sample records -------------------------------------------------------------------------- */

/*
 * Begin a record that needs @least bytes (at most WIRE_RECORD_MAX), and may have up to what *@room
 * gets. May be called again instead of a commit, for one that needs more.
 *
 * Returns where to build it, or NULL: no block is free, or the thread is further ahead of the
 * reader than sampler.ring_bytes. Nothing was begun then.
 */
struct wire_sample *ring_begin(struct sampler_thread *thread, uint32_t least, uint32_t *room);

/* Publish the record begun, @bytes long: a multiple of 8, at most the room there was. */
void ring_commit(struct sampler_thread *thread, uint32_t bytes);

/* There will be no record after all, if one was begun. */
void ring_abandon(struct sampler_thread *thread);

/* Has the ring nothing for the reader, and no block? Then it may be given away at once. */
int ring_is_empty(const struct sampler_thread *thread);

/* ---- control records ------------------------------------------------------------------------- */

/*
 * Reserve @bytes (a multiple of 8, at most WIRE_CONTROL_BYTES / 2) in the control ring of @slot,
 * whose data begins at @data. The caller fills everything behind struct wire_control, then calls
 * control_commit().
 *
 * Returns the record, or NULL when flamerun is behind: counted in slot->control_dropped.
 * Context: signal-safe, any thread; never waits.
 */
struct wire_control *control_reserve(struct wire_slot *slot, char *data, uint32_t bytes);

/* Make a reserved record visible. */
void control_commit(struct wire_control *record, uint32_t bytes, enum wire_control_type type);

#endif
