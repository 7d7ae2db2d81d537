/* SPDX-License-Identifier: MIT */
/*
 * Which functions changed between the runs of two versions of a program: plain numbers in, plain
 * numbers out.
 *
 * Runs are the units, not samples: samples of one run depend on each other, so that a test which
 * takes each for a coin's toss finds changes between equal runs. What is compared are means over
 * runs of logarithms of counts; how much those vary is seen from run to run. Few runs tell little
 * of that for each function by itself, but its variance is like that of others as heavy: it is
 * moderated towards a trend over functions, "Linear models and empirical Bayes methods" (Smyth
 * 2004), as R's limma does.
 *
 * Counts are compared beside a factor for each run, not as shares of it: when one function doubles,
 * all other shares fall.
 *
 * Context: any thread.
 */
#ifndef CLI_COMPARE_SHIFTS_H
#define CLI_COMPARE_SHIFTS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Functions are looked at by what they weigh on both sides together: they should have so many
 * samples on either, if nothing changed, and such a share.
 */
#define SHIFTS_LEAST_SAMPLES 25.0
#define SHIFTS_LEAST_SHARE   0.002

/* Chance of one false alarm or more in a whole comparison. */
#define SHIFTS_ALPHA 0.05

/* What was counted, in samples; the first @old_runs are of the old version. Borrowed. */
struct shift_counts {
	const double *at; /* [function * runs + run] */
	size_t functions;
	unsigned runs, old_runs;
	const double *log_factors; /* [run], see shifts_normalise() */
	const double *sizes;	   /* [run]: what it has of all of them */
	const double *grains;	   /* [run]: what a sample of it counts, of whatever rate it is */
	/*
	 * Where each side has one run nobody knows how much runs vary: so many times what tosses of
	 * a coin do.
	 */
	double one_run_dispersion;
};

/* How counts vary over runs: one that should be of n samples by scale * (1 / n + floor). */
struct shift_trend {
	double scale, floor;
	double prior_df; /* how much that is worth beside what a function shows, whose are ... */
	double df;	 /* ... these degrees of freedom; INFINITY and 0 for one run on each side */
	double pooled_df; /* of all functions */
};

struct shift {
	bool is_tested;		   /* else all but the means, their error and df is 0 */
	double old_mean, new_mean; /* samples a run, beside the factors */
	double change;		   /* of the logarithm, from old to new */
	double error;		   /* its standard error */
	double df;		   /* of that, may be INFINITY */
	double p;		   /* chance of this or more where nothing changed */
	double mean_error;	   /* standard error of new_mean - old_mean, in samples */
};

/*
 * The logarithm of each run's factor into @log_factors: the median, weighted by what is known of
 * each, of the ratios of its functions to those of all runs, but for functions that changed by
 * themselves. Where these are most of the program, or too few functions have samples to be of one
 * mind against one, the factors tell of each side's runs beside each other alone, and their mean
 * is 0. @counts are of disjoint functions, their log_factors not read. Returns whether the factors
 * tell what both sides have in common, or -ENOMEM.
 */
int shifts_normalise(const struct shift_counts *counts, double *log_factors);

/* Compare all functions into @shifts, and tell how they vary in @trend. Returns 0 or -ENOMEM. */
int shifts_find(const struct shift_counts *counts, struct shift *shifts, struct shift_trend *trend);

/*
 * Compare one count of each run, the first @old_runs of the old version, by itself: not tested
 * where both sides have one run, or none differs.
 */
struct shift shift_alone(const double *counts, unsigned runs, unsigned old_runs);

/*
 * Holm's procedure over @count chances @p: @level[i] is what p[i] is held against, smaller ones
 * first; 0 where an earlier one failed already. How many are told apart, p[i] <= level[i].
 * Returns that, or -ENOMEM.
 */
long shifts_holm(const double *p, size_t count, double alpha, double *level);

/* The change's interval at @level into @low and @high, both logarithms. */
void shift_interval(const struct shift *shift, double level, double *low, double *high);

/*
 * By which part more a function that has @share of all must weigh to be told apart at @level in
 * four of five comparisons: 0.1 for 10 %.
 */
double shift_detectable(const struct shift_trend *trend, const struct shift_counts *counts,
	double share, double level);

/*
 * By how many samples a run that moved, at most, where errors are taken @times. Logarithms of few
 * samples mean nothing, and those of a function that only some runs have mean little: their means'
 * difference may know better.
 */
double shift_bound(const struct shift *shift, double times);

#endif
