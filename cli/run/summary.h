/* SPDX-License-Identifier: MIT */
/*
 * Print the summary of a run to stderr, unless quiet.
 */
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
	/* All trees are finished, and neither grouped nor reversed. */
	const struct calltree *tree;  /* CPU time, and waits if drawn; filtered */
	const struct calltree *whole; /* the picture's, unfiltered, with waits */
	const struct calltree *drawn; /* the picture's, filtered */
	uint64_t whole_weight;	      /* weight of `whole` of the kind of time that is drawn */
	bool shows_machines;	      /* the picture shows time of virtual machines */
	const struct naming_report *report;
	uint64_t duration_ns; /* elapsed time of the run */
	int is_test_clock;    /* samples are not of CPU time: no balance */
	bool is_attached;     /* attached to running processes */
	bool is_stopped;      /* they were stopped all the time */
	bool is_outside;      /* all was sampled from outside */
	bool has_events;      /* perf events signalled threads */
	bool shows_native;    /* the native functions of interpreters are drawn */
	struct summary_waits waits;
	const struct pipe_reader_refusal *refusals; /* PIPE_READER_REFUSALS; borrowed */
};

/* Print samples, rate, threads, processes, losses, balance and the hottest functions. */
void summary_print(const struct summary *summary);

/* Percent of samples without a name from which a hint is printed. */
#define SUMMARY_UNNAMED 20.0

/*
 * Print what is missing from one run or from the sum of several, by cause. @refusals: the
 * PIPE_READER_REFUSALS reasons why programs could not be sampled from outside.
 */
void summary_print_losses(
	const struct profile_totals *totals, const struct pipe_reader_refusal *refusals);

/*
 * Print the hottest functions of @tree (finished). Self time of a language's functions includes the
 * native code that they call, unless @shows_native. With @spread (or NULL) it does not, because the
 * differences between runs, which are printed then, are known for each function only.
 * @lines_before: lines already printed about the run; the more, the fewer functions.
 */
void summary_print_hottest(const struct calltree *tree, const struct spread *spread,
	bool shows_native, unsigned lines_before);

/* Write the line below the picture's title, "2150 samples, ...", to @out. */
void summary_subtitle(const struct summary *summary, char *out, size_t size);

#define SUMMARY_TIMES_BYTES 128

/* Write to @out how exact the samples' times are if there were too many to keep each; else "". */
void summary_times(const struct flameprof_profile *profile, char *out, size_t size);

#endif
