/* SPDX-License-Identifier: MIT */
/*
 * From addresses to names: the profile's stacks become a call tree.
 */
#ifndef CLI_PROFILE_NAMING_H
#define CLI_PROFILE_NAMING_H

#include <stdint.h>

#include "cli/profile/profile.h"
#include "render/calltree.h"

struct naming_report {
	uint64_t unnamed_weight; /* samples whose innermost frame has no name */
	uint32_t processes;      /* images that were sampled or met */
};

/*
 * Name every stack of @profile and build the tree. A root frame per process name stands above the
 * stacks when there is more than one name. Stacks that did not reach their root hang below
 * "[incomplete stack]" or "[deeper than N frames]".
 *
 * @start_wall_s  when the run began (seconds since the epoch): older perf maps are somebody else's
 *
 * Returns 0 and an owned, finished tree in *@out, or -ENOMEM.
 */
int naming_build(struct profile *profile, int64_t start_wall_s, struct calltree **out,
	struct naming_report *report);

#endif
