/* SPDX-License-Identifier: MIT */
/*
 * The books: what was due, what arrived, and where the difference went.
 */
#ifndef CLI_PROFILE_ACCOUNTING_H
#define CLI_PROFILE_ACCOUNTING_H

#include <stdint.h>

#include "cli/profile/profile.h"

struct accounting {
	uint64_t due;      /* CPU time x rate */
	uint64_t sampled;  /* weight of samples, overruns included */
	uint64_t overruns; /* part of sampled */
	uint64_t credited;
	uint64_t dropped;
	uint64_t torn;
	uint64_t paused;
};

enum accounting_start {
	ACCOUNTING_START_CREDITED,
	ACCOUNTING_START_PAUSED, /* an exec'd image records nothing until it says so */
	ACCOUNTING_START_IGNORED
};

/*
 * Follow each process through its execs: count those whose new image never connected. The CPU time
 * that each image used before it could be sampled (its exec, its dynamic linking) becomes samples
 * without a stack, or is left out, as @start says. Call once, after everything was gathered.
 * Returns 0 or -ENOMEM.
 */
int accounting_settle(struct profile *profile, enum accounting_start start);

/* sampled + credited + dropped + torn + paused, to be held against due. */
uint64_t accounting_total(const struct accounting *accounting);

void accounting_of(struct profile *profile, struct accounting *out);

#endif
