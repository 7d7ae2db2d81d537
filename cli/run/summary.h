/* SPDX-License-Identifier: MIT */
/* Print the summary of a run to stderr, unless messages are quiet. */
#ifndef CLI_RUN_SUMMARY_H
#define CLI_RUN_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/run/summary_waits.h"
#include "cli/profile/naming.h"
#include "libprof/profile/profile.h"
#include "render/calltree.h"
#include "render/spread.h"

struct pipe_reader_refusal;

struct summary {
	struct flameprof_profile *profile;
	/* The trees are finished, and neither grouped nor reversed. */
	/* tree of CPU time, and of waits if they are drawn; after filters */
	const struct calltree *tree;
	/* the picture's tree before filters, with waits */
	const struct calltree *whole;
	const struct calltree *drawn; /* the picture's, filtered */
	/* weight in `whole` of the kind of time that is drawn */
	uint64_t whole_weight;
	bool shows_machines; /* the picture draws "vm" time */
	const struct naming_report *report;
	uint64_t duration_ns; /* elapsed time of the run */
	/* true: samples count elapsed time, so they are not compared with CPU time */
	int is_test_clock;
	bool is_attached;     /* attached to running processes */
	bool is_stopped;      /* attached processes never ran */
	bool is_outside;      /* a tracer sampled all processes */
	bool has_events;      /* perf events signalled threads */
	/* native functions of interpreters are drawn */
	bool shows_native;
	struct summary_waits waits;
	const struct pipe_reader_refusal *refusals; /* PIPE_READER_REFUSALS; borrowed */
};

/* Print samples, rate, threads, processes, losses, balance and the hottest functions. */
void summary_print(const struct summary *summary);

/* If at least this percentage of samples has no function name, a hint is printed. */
#define SUMMARY_UNNAMED 20.0

/*
 * Print the causes of missing samples, for one run or for the sum of several. @refusals: an array
 * of PIPE_READER_REFUSALS reasons why programs could not be sampled from outside.
 */
void summary_print_losses(
	const struct profile_totals *totals, const struct pipe_reader_refusal *refusals);

/*
 * Print the hottest functions of @tree (finished). Unless @shows_native, the self time of a
 * function of an interpreted or JIT language includes native code that the function calls. If
 * @spread is not NULL, print for each function how much the runs differ, and do not include native
 * code, because differences are known for single functions only. @lines_before: number of lines
 * already printed about the run; more lines leave room for fewer functions.
 */
void summary_print_hottest(const struct calltree *tree, const struct spread *spread,
	bool shows_native, unsigned lines_before);

/* Write the line below the picture's title, "2150 samples, ...", to @out. */
void summary_subtitle(const struct summary *summary, char *out, size_t size);

#define SUMMARY_TIMES_BYTES 128

/* If there were too many samples to keep the time of each, write to @out what is known; else "". */
void summary_times(const struct flameprof_profile *profile, char *out, size_t size);

#endif
