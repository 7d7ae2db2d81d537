/* SPDX-License-Identifier: MIT */
/*
 * Find the changes between two versions: of the program, of functions by self weight, and of
 * functions by total weight. All these tests together have a chance of SHIFTS_ALPHA for one false
 * alarm or more.
 *
 * A change shows in a function, in its callers and, if code is shared, in its callees. It is
 * *named* once, at the function whose relative change is greatest; the other functions changed
 * because of it.
 *
 * Context: one thread.
 */
#ifndef CLI_COMPARE_CHANGES_H
#define CLI_COMPARE_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/compare/shifts.h"
#include "cli/compare/sides.h"

/* The smallest detectable change is reported for a function with this share of the program. */
#define CHANGES_USUAL_SHARE 0.1

/* Functions with a larger share of the program, by total, are left out of most_points. */
#define CHANGES_MOST_SHARE 0.5

struct change {
	uint32_t function; /* in the sides' ranking; UINT32_MAX: the program, as measured */
	bool is_self;	   /* by self weight, else by total weight */
	bool is_significant; /* statistically significant */
	bool is_named;	   /* significant, and not because of another change */
	struct shift shift;
	double low, high; /* confidence interval of shift.change, at the level it was tested at */
	double points;	  /* difference, in percent of the old program */
};

struct changes {
	const struct sides *sides;
	struct change *at; /* named ones first, then by points */
	size_t count, significant, named;
	double old_samples; /* per run, divided by the factors */
	/*
	 * Relative change that all functions have in common, NAN if there are too few functions,
	 * and its 95 % interval; equal to it if unknown.
	 */
	double common, common_low, common_high;
	double most_points;    /* maximum change of all other functions; INFINITY: unknown */
	double detectable;     /* smallest detectable change of a function with the usual share */
	uint32_t *of_function; /* [function] -> index of its change + 1; 0: not tested */
};

/* Compare @sides (borrowed until the release). Returns 0, or -ENOMEM with nothing to release. */
int changes_find(struct changes *changes, const struct sides *sides);
void changes_release(struct changes *changes); /* an all-zero struct is fine */

/* Is the function in no run of the old version, or in no run of the new one? */
bool change_is_new(const struct change *change);
bool change_is_gone(const struct change *change);

#endif
