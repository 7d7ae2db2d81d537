/* SPDX-License-Identifier: MIT */
/*
 * Find what changed between two versions of a program: the whole program, each function's self
 * weight, and each function's total weight. SHIFTS_ALPHA is the probability that all these tests
 * together give one false alarm or more.
 *
 * One cause changes the weights of several functions: of a function, its callers and, if code is
 * shared, its callees. Only the function whose relative change is greatest is *named*. Its change
 * explains the other changes.
 *
 * Context: one thread.
 */
#ifndef CLI_COMPARE_CHANGES_H
#define CLI_COMPARE_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/compare/shifts.h"
#include "cli/compare/sides.h"

/* changes.detectable is computed for a function with this share of the program. */
#define CHANGES_USUAL_SHARE 0.1

/*
 * If weights are not samples (sides.is_sampled), a change is significant if it is at least this
 * part of the old version, in percent.
 */
#define CHANGES_LEAST_POINTS 1.0

/* changes.most_points leaves out functions whose total weight is a larger share of the program. */
#define CHANGES_MOST_SHARE 0.5

struct change {
	/* number in sides->ranking; UINT32_MAX: the whole program, as measured */
	uint32_t function;
	bool is_self;	     /* by self weight, else by total weight */
	bool is_significant; /* statistically significant */
	/* significant, and no other change explains it */
	bool is_named;
	struct shift shift;
	/* confidence interval of shift.change, at the level that decided about significance */
	double low, high;
	double points; /* percent of the old program */
};

struct changes {
	const struct sides *sides;
	struct change *at; /* named ones first, then by points */
	size_t count, significant, named;
	size_t others;	    /* significant changes of functions that are not named */
	double old_samples; /* per run, divided by the factors */
	/*
	 * Relative change that all functions have in common, with its 95 % interval. NAN if too few
	 * functions agree on it. All three are equal if the interval is unknown.
	 */
	double common, common_low, common_high;
	/* upper bound of changes not significant, in % of the old version; INFINITY: unknown */
	double most_points;
	/* smallest detectable change of a function with CHANGES_USUAL_SHARE (0.1 is 10 %) */
	double detectable;
	/* [function] -> index of its change in `at`, plus 1; 0: the function was not tested */
	uint32_t *of_function;
};

/*
 * Compare the versions in @sides, which is borrowed until changes_release(). Returns 0, or -ENOMEM
 * with nothing to release.
 */
int changes_find(struct changes *changes, const struct sides *sides);
void changes_release(struct changes *changes); /* an all-zero struct is fine */

/* Is the function missing in all runs of the old version (new) or of the new version (gone)? */
bool change_is_new(const struct change *change);
bool change_is_gone(const struct change *change);

#endif
