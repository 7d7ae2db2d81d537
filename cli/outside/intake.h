/* SPDX-License-Identifier: MIT */
/*
 * Records of the tracing process on their way into the profile.
 *
 * Context: one thread.
 */
#ifndef CLI_OUTSIDE_INTAKE_H
#define CLI_OUTSIDE_INTAKE_H

#include <stdint.h>

#include "cli/outside/record.h"
#include "cli/profile/profile.h"

/* The last stack of a thread, for samples that say "the same again". */
struct outside_last {
	uint32_t node; /* 0: none yet; the profile's first node is an image's root */
	uint8_t end;
};

struct outside_intake {
	struct profile *profile; /* borrowed */
	struct outside_last *last; /* by profile thread */
	uint32_t last_room;
	unsigned live;	     /* images that have not ended */
	unsigned images_met;
	struct record_totals totals;
};

/* Take one whole record, at any alignment. Failures poison the profile. */
void outside_intake_take(struct outside_intake *intake, const char *record);

/* After the last record: the totals. */
void outside_intake_finish(struct outside_intake *intake);

void outside_intake_release(struct outside_intake *intake);

#endif
