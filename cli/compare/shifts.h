/* SPDX-License-Identifier: MIT */
/*
 * Statistics: find the functions that changed between the runs of two versions of a program.
 *
 * Runs are compared, not samples, because samples of one run depend on each other: a test that
 * ignores this finds changes between equal runs. The test compares means over runs of logarithms of
 * counts. Few runs say little about the variance of one function, so it is moved towards a trend
 * over all functions of similar weight ("moderated"): "Linear models and empirical Bayes methods"
 * (Smyth 2004), as in R's limma.
 *
 * Counts are divided by a factor per run. They are not turned into shares of the run, because when
 * one function doubles, the shares of all other functions fall.
 *
 * Context: any thread.
 */
#ifndef CLI_COMPARE_SHIFTS_H
#define CLI_COMPARE_SHIFTS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A function is tested if its mean share of the program is at least SHIFTS_LEAST_SHARE, and each
 * side should have at least SHIFTS_LEAST_SAMPLES samples of it by this share.
 */
#define SHIFTS_LEAST_SAMPLES 25.0
#define SHIFTS_LEAST_SHARE   0.002

/* Probability of one false alarm or more in a whole comparison. */
#define SHIFTS_ALPHA 0.05

/*
 * Counts to compare, in samples. The first @old_runs runs are the old version. All arrays are
 * borrowed.
 */
struct shift_counts {
	const double *at; /* [function * runs + run] */
	size_t functions;
	unsigned runs, old_runs;
	const double *log_factors; /* [run], from shifts_normalise() */
	const double *sizes;	   /* [run] -> count of all functions */
	/* [run] -> count that one sample of this run stands for, as sampling rates may differ */
	const double *grains;
	/*
	 * Variance of counts relative to a Poisson distribution. It is used only if each side has
	 * one run, because then no variance can be estimated.
	 */
	double one_run_dispersion;
};

/* Trend: the logarithm of a count of n expected samples has variance scale * (1 / n + floor). */
struct shift_trend {
	double scale, floor;
	/* weight of the trend's variance against a function's own, in degrees of freedom */
	double prior_df;
	/*
	 * degrees of freedom of a function's variance; 0 (prior_df: INFINITY) for one run per side
	 */
	double df;
	double pooled_df; /* of all functions together */
};

struct shift {
	/* false: only the means, mean_error and df are set */
	bool is_tested;
	/* mean samples per run, divided by the runs' factors */
	double old_mean, new_mean;
	double change; /* of the logarithm, from old to new */
	double error;  /* standard error of @change */
	double df;     /* of @error; may be INFINITY */
	double p;      /* p-value of @change */
	/* standard error of new_mean - old_mean, in samples per run */
	double mean_error;
};

/*
 * Compute the logarithm of each run's factor: the weighted median, over the functions, of the run's
 * count divided by the count in all runs. Functions that changed by themselves are left out. If
 * most of the program changed, or too few functions have enough samples, factors are computed for
 * the runs of each side alone, with a mean of 0. A sample must not be counted for two functions.
 * counts->log_factors is not used. Returns 1 if the factors are valid across both sides, 0 if only
 * within each side, or -ENOMEM.
 */
int shifts_normalise(const struct shift_counts *counts, double *log_factors);

/*
 * Compare each function between the versions. Fill @shifts, [function], and @trend. Returns 0 or
 * -ENOMEM.
 */
int shifts_find(const struct shift_counts *counts, struct shift *shifts, struct shift_trend *trend);

/*
 * Compare the means of counts that are no samples. is_tested is set for each function whose share
 * of the program is at least SHIFTS_LEAST_SHARE; `error` and `p` mean nothing.
 */
void shifts_of_means(const struct shift_counts *counts, struct shift *shifts);

/*
 * Compare one count per run, without factors and trend. The first @old_runs are the old version.
 * is_tested is false if each side has one run, or if the runs of a side do not differ.
 */
struct shift shift_alone(const double *counts, unsigned runs, unsigned old_runs);

/*
 * Apply Holm's procedure to @count p-values @p: @level[i] receives the level that p[i] is compared
 * with, 0 after the first p-value that fails. Returns the number of p[i] <= level[i], or -ENOMEM.
 */
long shifts_holm(const double *p, size_t count, double alpha, double *level);

/* Compute the interval that holds the true change with probability 1 - @level, as logarithms. */
void shift_interval(const struct shift *shift, double level, double *low, double *high);

/*
 * Returns the relative increase (0.1 is 10 %) that a function with @share of the program needs to
 * be significant at @level in four of five comparisons.
 */
double shift_detectable(const struct shift_trend *trend, const struct shift_counts *counts,
	double share, double level);

/*
 * Returns an upper bound, in samples per run, of the function's change, at @times standard errors:
 * the smaller of two bounds. The bound from the logarithms is useless for few samples and poor for
 * functions that only some runs have; the other bound is from the difference of the means.
 */
double shift_bound(const struct shift *shift, double times);

#endif
