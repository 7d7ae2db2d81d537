/* SPDX-License-Identifier: MIT */
/*
 * What changed from one version to the other, of all that was looked at: the program, functions by
 * their own code and with all that they call. These are one family, in which a false alarm has the
 * chance of SHIFTS_ALPHA.
 *
 * A change shows in a function, in its callers, and where code is shared in what it calls. It is
 * named once, where it is greatest for what stands there; the others share in it.
 *
 * Context: one thread.
 */
#ifndef CLI_COMPARE_CHANGES_H
#define CLI_COMPARE_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/compare/shifts.h"
#include "cli/compare/sides.h"

/* The smallest change that would have been seen is told of so much of the program. */
#define CHANGES_USUAL_SHARE 0.1

/* What has more of the program is the program, of which other things are said. */
#define CHANGES_MOST_SHARE 0.5

struct change {
	uint32_t function; /* of the sides' ranking; UINT32_MAX: the program, without its factors */
	bool is_self;	   /* by its own code */
	bool is_told;	   /* apart from chance */
	bool is_named;	   /* and not by another change */
	struct shift shift;
	double low, high; /* of the shift's change, at the level it was held against */
	double points;	  /* percent of the old program */
};

struct changes {
	const struct sides *sides;
	struct change *at; /* the named ones first, those that moved most first */
	size_t count, told, named;
	double old_samples; /* a run, beside the factors */
	/*
	 * Part by which all functions changed alike, NAN: too few tell; its interval of 95 %,
	 * equal: not known.
	 */
	double common, common_low, common_high;
	double most_points;    /* no other function moved by more; INFINITY: not known */
	double detectable;     /* part by which the usual share would have had to change */
	uint32_t *of_function; /* [function] -> its change, plus 1; 0: nothing can be told */
};

/* Compare @sides (borrowed as long). Returns 0, or -ENOMEM with nothing to release. */
int changes_find(struct changes *changes, const struct sides *sides);
void changes_release(struct changes *changes); /* all zero is fine */

/* Was it in no run of the old version, or of the new one? */
bool change_is_new(const struct change *change);
bool change_is_gone(const struct change *change);

#endif
