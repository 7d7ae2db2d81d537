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

struct sampling_clock {
	bool has_events; /* perf events, not timers alone */
	bool has_kernel; /* and these tell what the kernel does */
};

/* The words of --clock, NULL at the end. */
const char *const *sampling_clock_names(void);

/*
 * What is the run of @options sampled by? Where perf events are refused to one that left it open,
 * or the kernel's functions are, that is said. Returns 0 with @clock filled, or -errno with
 * @message filled: events were asked for.
 */
int sampling_clock_choose(
	const struct options *options, struct sampling_clock *clock, struct diag_message *message);

/* A run from outside, which has no such clock, was asked for the kernel's functions: say so. */
void sampling_clock_refuse_kernel(void);

#endif
