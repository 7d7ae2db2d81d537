/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: control records, appended by any thread's handler. */
#ifndef LIBPROF_SAMPLER_CONTROL_H
#define LIBPROF_SAMPLER_CONTROL_H

#include <stdint.h>

#include "libprof/wire.h"

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
