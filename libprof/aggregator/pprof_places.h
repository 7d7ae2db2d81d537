/* SPDX-License-Identifier: MIT */
/*
 * A profile's distinct frames, numbered for pprof: nodes share them.
 */
#ifndef LIBPROF_AGGREGATOR_PPROF_PLACES_H
#define LIBPROF_AGGREGATOR_PPROF_PLACES_H

#include "libprof/aggregator/profile.h"

/* All zero is an empty one. */
struct pprof_places {
	struct pages_account account;
	const struct flameprof_profile *profile;
	struct pages nodes; /* uint32_t by number - 1: the first node that has the frame */
	uint32_t count;
	struct lookup lookup;
};

/* Number the frames of @profile from 1 in order of appearance. Returns 0 or -ENOMEM. */
int pprof_places_init(struct pprof_places *places, const struct flameprof_profile *profile);
void pprof_places_release(struct pprof_places *places);

/* The frame of place @number. */
uint64_t pprof_places_frame(const struct pprof_places *places, uint32_t number);

/* The number of a frame that one of the profile's nodes has. */
uint32_t pprof_places_number(const struct pprof_places *places, uint64_t frame);

#endif
