/* SPDX-License-Identifier: MIT */
/*
 * Choose the clock and the signal by which the library samples threads (--clock, --signal). The
 * clock is a timer, which the kernel checks at its tick, or a perf event, which can interrupt at
 * any instruction.
 */
#ifndef CLI_RUN_SAMPLING_CLOCK_H
#define CLI_RUN_SAMPLING_CLOCK_H

#include <stdbool.h>

#include "cli/diag.h"

struct options;

struct sampling_clock {
	bool has_events; /* perf events, not only timers */
	bool has_kernel; /* perf events, kernel stacks */
};

/* Returns the values of --clock. NULL ends the list. */
const char *const *sampling_clock_names(void);

/*
 * Return the values of --signal; NULL ends the list. sampling_signal_number() returns the number of
 * the signal @name, or of the default signal if @name is NULL.
 */
const char *const *sampling_signal_names(void);
int sampling_signal_number(const char *name);

/*
 * Choose the clock for @options. If --clock=auto would use perf events but they are refused, or
 * kernel stacks are refused, print a message. Returns 0 with @clock filled. If --clock=perf is
 * refused, returns -errno with @message filled.
 */
int sampling_clock_choose(
	const struct options *options, struct sampling_clock *clock, struct diag_message *message);

/* Print that runs sampled from outside cannot show functions of the kernel. */
void sampling_clock_refuse_kernel(void);

#endif
