/* SPDX-License-Identifier: MIT */
/*
 * From addresses to names: the profile's stacks become a call tree.
 */
#ifndef CLI_PROFILE_NAMING_H
#define CLI_PROFILE_NAMING_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/profile/sources.h"
#include "cli/symbols/debuginfod.h"
#include "cli/symbols/demangle.h"
#include "libprof/profile/profile.h"
#include "render/calltree.h"

struct held_files;

struct naming_report {
	uint32_t processes;	/* that were sampled or met */
	struct sources sources; /* where names come from; sources_release() */
	struct debuginfod_report fetched;
};

struct naming_request {
	struct flameprof_profile *profile; /* borrowed */
	int64_t start_wall_s;	 /* when the run began (seconds since the epoch): older perf maps
				    are somebody else's */
	const char *program;	 /* the path by which the program that was run can be read whatever
				    became of its file; borrowed, NULL: there is none */
	const struct held_files *held; /* of modules; borrowed, NULL: none are */
	bool is_machine;	 /* what virtual machines told instead of what a clock counted */
	bool shows_native;	 /* language frames do not take the place of what runs them */
	enum demangle_style demangle;
	bool fetches;		 /* debuginfod servers are asked for symbols that are not here */
	void (*on_fetch)(unsigned files); /* told of it before; NULL: nobody */
	bool (*is_hurried)(void); /* asked while naming: leave out what is slow. NULL: nobody is */
};

/*
 * Name the stacks of the profile that have one kind of time and build their tree: what a clock
 * counted, with what was waited for, and what virtual machines told are never in one. A root frame
 * per process name stands above the stacks when there is more than one name. Stacks that did not
 * reach their root hang below "[incomplete stack]" or "[deeper than N frames]".
 *
 * Returns 0 and an owned, finished tree in *@out, or -ENOMEM.
 */
int naming_build(const struct naming_request *request, struct calltree **out,
	struct naming_report *report);

#endif
