/* SPDX-License-Identifier: MIT */
/*
 * The arena's slots, each with a process image that came and will go.
 *
 * Context: one thread.
 */
#ifndef CLI_RUN_SLOTS_H
#define CLI_RUN_SLOTS_H

#include <stdint.h>

#include "libprof/wire.h"

struct intake;
struct profile;

/* What we know of one slot. image_id 0: nobody we have met. */
struct known_slot {
	uint64_t image_id;
	uint32_t image; /* profile index */
	uint32_t pid;
	uint32_t namespaced; /* the pid means nothing to us: only the image can say it left */
	uint32_t superseded; /* another image connected under the same pid */
	uint32_t has_left;   /* the image ended; a helper may still be reading its rings */
	uint64_t cpu_ns;     /* of the process when it was last looked at */
};

/* Zero-initialise, and set what is borrowed. */
struct slots {
	struct wire_arena *arena; /* borrowed, as the next three */
	struct intake *intake;
	struct profile *profile;
	int pipe;
	struct known_slot known[WIRE_SLOTS];
	uint64_t connected; /* images ever seen */
};

/*
 * Meet who came, read control records, and take what is left in the rings of those who ended. What
 * went wrong is the profile's error.
 */
void slots_step(struct slots *slots);

/* Images that are here or on their way: forks that have begun and not arrived. */
unsigned slots_live(const struct slots *slots);

/* Let every helper look at what it has to do. */
void slots_ring_doorbells(struct slots *slots);

/* Is there a helper that still reads rings? */
int slots_have_helpers(const struct slots *slots);

/* Take what is left of everybody, ended or not; nobody else reads the rings any more. */
void slots_finish(struct slots *slots);

#endif
