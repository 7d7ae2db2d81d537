/* SPDX-License-Identifier: MIT */
/* The part of the summary that explains why CPU time is in no sample. */
#ifndef CLI_RUN_SUMMARY_UNSAMPLED_H
#define CLI_RUN_SUMMARY_UNSAMPLED_H

#include <stdbool.h>
#include <stdint.h>

#include "libprof/profile/profile.h"

struct summary_unsampled {
	const struct profile_totals *totals; /* borrowed */
	uint32_t rate_hz;
	uint64_t drawn;	    /* weight of what the clock counted and no filter left out */
	uint64_t unsampled; /* of it, what ends in "[unsampled]" */
	uint64_t credited;  /* weight of all credit but "[exec]" and "[exit]" */
	double unseen_s;    /* CPU time in no sample and no credit */
	uint64_t threads;
	uint32_t processes;
	bool is_outside; /* all of it was sampled from outside */
};

/*
 * Print which share is [unsampled], is on threads' last stacks or is in no record, if it is at
 * least a tenth, and the reasons if they explain half of it. Returns whether reasons were given.
 */
bool summary_unsampled_print(const struct summary_unsampled *unsampled);

/* A rate that is worth advising: higher, and not yet costly. */
#define SUMMARY_HIGHER_HZ 997u

/* Is that rate higher than @rate_hz, and does it give @samples samples in @cpu_ns? */
bool summary_unsampled_would_show(uint32_t rate_hz, double cpu_ns, unsigned samples);

#endif
