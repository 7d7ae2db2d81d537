/* SPDX-License-Identifier: MIT */
/*
 * Choose the clock and the signal that sample threads with the library (--clock, --signal). The
 * clock is a timer, which the kernel checks at its tick, or a perf event, which interrupts at any
 * instruction.
 */
#ifndef CLI_RUN_SAMPLING_CLOCK_H
#define CLI_RUN_SAMPLING_CLOCK_H

#include <stdbool.h>

#include "cli/diag.h"

struct options;

struct sampling_clock {
	bool has_events; /* perf events, not only timers */
	bool has_kernel; /* perf events that record kernel stacks */
};

/* Returns the words of --clock; NULL at the end. */
const char *const *sampling_clock_names(void);

/* Returns the words of --signal (NULL at the end), and the number of one; NULL is the default. */
const char *const *sampling_signal_names(void);
int sampling_signal_number(const char *name);

/*
 * Choose the clock for @options. Prints a message if perf events are refused that --clock=auto
 * would use, or if kernel stacks are refused. Returns 0 with @clock filled, or -errno with @message
 * filled if --clock=perf is refused.
 */
int sampling_clock_choose(
	const struct options *options, struct sampling_clock *clock, struct diag_message *message);

/* Print that a run sampled from outside cannot show the kernel's functions. */
void sampling_clock_refuse_kernel(void);

#endif
