/* SPDX-License-Identifier: MIT */
/*
 * Print the summary of waits: where the run spent its time, why waits could not be read, and for
 * each thread whether its lifetime by the kernel's clocks equals the sum of its recorded times.
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
	/* tree of waits and CPU time, with one frame per function */
	const struct calltree *tree;
	bool shows_waits;	     /* the picture draws waits */
	bool has_viewer;	     /* a written picture can show waits */
};

/* Print the summary. Returns true if any thread's life is known. */
bool summary_waits_print(const struct summary_waits *summary);

#endif
