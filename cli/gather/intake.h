/* SPDX-License-Identifier: MIT */
/*
 * The pipe's reading end: frames into streams, streams into records, records into the profile. What
 * comes is checked here once more: anybody who runs as the same user could write to the pipe.
 *
 * Context: one thread.
 */
#ifndef CLI_GATHER_INTAKE_H
#define CLI_GATHER_INTAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/gather/record.h"
#include "libprof/profile/profile.h"

struct intake;

/* Returns 0 and an owned object, or -errno. */
int intake_open(struct intake **out, uint32_t rate_hz);
void intake_free(struct intake *intake); /* NULL is fine */

/* For those who write: the pipe's writing end, non-blocking and close-on-exec, and the key. */
int intake_writer(const struct intake *intake);
uint32_t intake_key(const struct intake *intake);

/* To poll for POLLIN. Owned by @intake. */
int intake_descriptor(const struct intake *intake);

/* Take all that the pipe holds now. Never blocks. Returns 0 or -ENOMEM (what was taken stays). */
int intake_read(struct intake *intake);

/* Sleep until there is something to read, at most @timeout_ms. */
void intake_wait(const struct intake *intake, int timeout_ms);

/* Programs that could not be sampled, for the same reason. */
#define INTAKE_REFUSALS 8
struct intake_refusal {
	uint64_t programs; /* 0: no such reason */
	char text[256];	   /* of the first */
};

/* What has been read so far. */
struct intake_state {
	bool has_ended[RECORD_SOURCES]; /* the stream has */
	unsigned live;	     /* images that have not ended */
	uint64_t images_met; /* ever */
	uint64_t round;	     /* of the last RECORD_ROUND */
	struct record_totals totals;
	struct intake_refusal refusals[INTAKE_REFUSALS];
};
const struct intake_state *intake_state(const struct intake *intake);

/* Owned by @intake. */
struct flameprof_profile *intake_profile(const struct intake *intake);

#endif
