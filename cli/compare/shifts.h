/* SPDX-License-Identifier: MIT */
/*
 * Statistics: find the functions that changed between the runs of two versions of a program.
 *
 * The unit is the run, not the sample, because samples of one run are not independent: a test that
 * assumes that they are finds changes between equal runs. The test compares means of logarithms of
 * counts over runs. Their variance is estimated from run to run. As few runs say little about a
 * single function, its variance is moderated towards a trend over all functions of similar weight:
 * "Linear models and empirical Bayes methods" (Smyth 2004), as in R's limma.
 *
 * Counts are divided by a factor per run instead of being turned into shares of the run, because
 * when one function doubles, the shares of all other functions fall.
 *
 * Context: any thread.
 */
#ifndef CLI_COMPARE_SHIFTS_H
#define CLI_COMPARE_SHIFTS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A function is tested if, by its mean share on both sides, each side should have this many samples
 * of it, and it has this share.
 */
#define SHIFTS_LEAST_SAMPLES 25.0
#define SHIFTS_LEAST_SHARE   0.002

/* Probability of one false alarm or more in a whole comparison. */
#define SHIFTS_ALPHA 0.05

/* Counts in samples; the first @old_runs runs are the old version. Borrowed. */
struct shift_counts {
	const double *at; /* [function * runs + run] */
	size_t functions;
	unsigned runs, old_runs;
	const double *log_factors; /* [run], from shifts_normalise() */
	const double *sizes;	   /* [run] -> count of all functions */
	const double *grains;	   /* [run] -> count of one sample of the run (rates may differ) */
	/*
	 * Variance of counts relative to Poisson, assumed if each side has one run and so no
	 * variance can be estimated.
	 */
	double one_run_dispersion;
};

/* Variance of log counts over runs: a count of n expected samples has scale * (1 / n + floor). */
struct shift_trend {
	double scale, floor;
	double prior_df; /* the trend's weight against a function's own, in degrees of freedom */
	double df;	 /* a function's own. One run per side: 0, and prior_df INFINITY */
	double pooled_df; /* of all functions together */
};

struct shift {
	bool is_tested;		   /* else only the means, mean_error and df are set */
	double old_mean, new_mean; /* samples per run, divided by the factors */
	double change;		   /* of the logarithm, from old to new */
	double error;		   /* standard error of @change */
	double df;		   /* degrees of freedom of @error; may be INFINITY */
	double p;		   /* probability of such a change by chance */
	double mean_error;	   /* standard error of new_mean - old_mean, in samples */
};

/*
 * Compute the logarithm of each run's factor: the weighted median, over the functions, of the ratio
 * of the run's count to that of all runs. Functions that changed by themselves are left out. If
 * most of the program changed, or too few functions have enough samples, factors are computed for
 * the runs of each side alone, with a mean of 0. The functions of @counts must be disjoint; its
 * log_factors are not used. Returns 1 if the factors are valid across both sides, 0 if not, or
 * -ENOMEM.
 */
int shifts_normalise(const struct shift_counts *counts, double *log_factors);

/* Compare all functions into @shifts, and set @trend. Returns 0 or -ENOMEM. */
int shifts_find(const struct shift_counts *counts, struct shift *shifts, struct shift_trend *trend);

/*
 * Compare a single count per run; the first @old_runs are the old version. The result is not tested
 * if each side has one run or no runs of a side differ.
 */
struct shift shift_alone(const double *counts, unsigned runs, unsigned old_runs);

/*
 * Apply Holm's procedure to @count p-values @p: @level[i] receives the level that p[i] is compared
 * with, 0 after the first p-value that fails. Returns the number of p[i] <= level[i], or -ENOMEM.
 */
long shifts_holm(const double *p, size_t count, double alpha, double *level);

/* Compute the confidence interval of the change at @level, both ends as logarithms. */
void shift_interval(const struct shift *shift, double level, double *low, double *high);

/*
 * Returns the relative increase (0.1 is 10 %) that a function with @share of the program needs to
 * be significant at @level in four of five comparisons.
 */
double shift_detectable(const struct shift_trend *trend, const struct shift_counts *counts,
	double share, double level);

/*
 * Returns an upper bound, in samples per run, of the function's change, at @times standard errors.
 * The smaller of two bounds: from the logarithms, which are useless for few samples and poor for
 * functions that only some runs have, and from the difference of the means.
 */
double shift_bound(const struct shift *shift, double times);

#endif
