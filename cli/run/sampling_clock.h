/* SPDX-License-Identifier: MIT */
/*
 * --clock: by what threads are sampled from inside, timers that the kernel looks at at its tick, or
 * perf events where it is asked for more than that and they are allowed.
 */
#ifndef CLI_RUN_SAMPLING_CLOCK_H
#define CLI_RUN_SAMPLING_CLOCK_H

#include <stdbool.h>

#include "cli/diag.h"

struct options;

/* The words of --clock, NULL at the end. */
const char *const *sampling_clock_names(void);

/*
 * Is the run of @options to use perf events? Where they are refused to one that left it open, that
 * is said. Returns 0 with *@has_events set, or -errno with @message filled: they were asked for.
 */
int sampling_clock_choose(
	const struct options *options, bool *has_events, struct diag_message *message);

#endif
