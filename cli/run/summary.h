/* SPDX-License-Identifier: MIT */
/*
 * What is said on stderr when a run is over, unless quiet.
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
	/* All finished, and none grouped or turned round. */
	const struct calltree *tree;  /* what the clock counted, but for what filters left out */
	const struct calltree *whole; /* the picture's, with what filters left out, and waits */
	const struct calltree *drawn; /* the picture's, without */
	uint64_t whole_weight;	      /* of the whole, but what is not drawn: waits or CPU time */
	bool shows_machines;	      /* that is what virtual machines told */
	const struct naming_report *report;
	uint64_t duration_ns; /* of the run, by the clock on the wall */
	int is_test_clock;    /* rates are not of CPU time: nothing to reconcile */
	bool is_attached;     /* to what ran already */
	bool is_stopped;      /* it was, from beginning to end */
	bool is_outside;      /* all of it was sampled from outside */
	bool has_events;      /* perf events sampled it from inside */
	struct summary_waits waits;
	const struct pipe_reader_refusal *refusals; /* PIPE_READER_REFUSALS; borrowed */
};

/*
 * Print samples, rate, threads, processes, losses with the reconciliation, the hottest functions.
 */
void summary_print(const struct summary *summary);

/* Shares of the samples, in percent, above which something can be done about missing names. */
#define SUMMARY_UNNAMED 20.0

/*
 * Of one run or the sum of several: what is missing, by cause. @refusals: why programs could not be
 * sampled from outside, PIPE_READER_REFUSALS of them.
 */
void summary_print_losses(
	const struct profile_totals *totals, const struct pipe_reader_refusal *refusals);

/* The hottest functions of @tree (finished), with @spread how they differ between runs. */
void summary_print_hottest(const struct calltree *tree, const struct spread *spread);

/* One line for under the picture's title: "cmd: 2150 samples, ..." into @out. */
void summary_subtitle(const struct summary *summary, char *out, size_t size);

#define SUMMARY_TIMES_BYTES 128

/*
 * What became of the times of samples where there were too many to keep each, into @out; empty:
 * nothing.
 */
void summary_times(const struct flameprof_profile *profile, char *out, size_t size);

#endif
