/* SPDX-License-Identifier: MIT */
/* Turn the profile's stacks of addresses into a call tree of named frames. */
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
	uint32_t processes; /* sampled or otherwise known */
	/* origins of names; sources_release() after use */
	struct sources sources;
	struct debuginfod_report fetched;
	/* weight of stacks that did not reach the thread's root, but that of their greenlet */
	uint64_t whole_greenlets;
};

struct naming_request {
	struct flameprof_profile *profile; /* borrowed */
	/* start of the run in s since the epoch; perf maps that are older belong to another run */
	int64_t start_wall_s;
	/* path from which the run's program can always be read; borrowed, or NULL */
	const char *program;
	const struct held_files *held; /* files of modules; borrowed, or NULL */
	/* name the stacks whose time virtual machines reported, not those with time of clocks */
	bool is_machine;
	/* show the interpreter's native frames as well as language frames */
	bool shows_native;
	enum demangle_style demangle;
	/* ask debuginfod servers for missing symbols */
	bool fetches;
	void (*on_fetch)(unsigned files); /* called before fetching; may be NULL */
	/* called often; if it returns true, slow steps are skipped; may be NULL */
	bool (*is_hurried)(void);
};

/*
 * Name the profile's stacks and build their tree. The tree has either time of clocks, including
 * waits, or time that virtual machines reported. If there is more than one process name, a root
 * frame per name is added. Stacks that did not reach their root hang below "[incomplete stack]" or
 * "[deeper than N frames]". Stacks of greenlets begin where the greenlet began.
 */
int naming_build(
	const struct naming_request *request, struct calltree **out, struct naming_report *report);

#endif
