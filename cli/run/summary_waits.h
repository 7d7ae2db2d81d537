/* SPDX-License-Identifier: MIT */
/*
 * What is said of waiting when a run is over: what the run was, what kept us from looking, and the
 * books of threads. A thread's life, by clocks, is held against what the profile has of it.
 */
#ifndef CLI_RUN_SUMMARY_WAITS_H
#define CLI_RUN_SUMMARY_WAITS_H

#include <stdbool.h>

#include "cli/gather/pipe_reader.h"
#include "libprof/profile/profile.h"
#include "render/calltree.h"

struct summary_waits {
	const struct flameprof_profile *profile;
	const struct pipe_reader_state *state;
	const struct calltree *tree; /* waits and CPU time, functions whole */
	bool shows_waits;	     /* they are drawn */
	bool has_viewer;	     /* a picture was written that shows them when asked to */
};

/* Returns whether anything is known of waits. */
bool summary_waits_print(const struct summary_waits *summary);

#endif
