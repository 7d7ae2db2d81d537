/* SPDX-License-Identifier: MIT */
/*
 * --clock and --signal: what samples threads from inside. The clock is either a timer, which the
 * kernel checks at its tick, or a perf event, which interrupts a thread at any instruction.
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

/* The words of --signal, NULL at the end, and what they mean: NULL is the default. */
const char *const *sampling_signal_names(void);
int sampling_signal_number(const char *name);

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
