/* SPDX-License-Identifier: MIT */
/*
 * Half a sample is added to each count: a function that one side does not have weighs less than
 * any, rather than nothing, and its change is a number.
 */
#include "cli/compare/shifts.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/student.h"

#define HALF 0.5

/*
 * In a run's factor no function counts for more than one of so many samples, nor for more than such
 * a part of all, or that of a program which spends its time in one loop would be that loop.
 */
#define FACTOR_SAMPLES 400.0
#define FACTOR_PART    0.25
#define CAP_ROUNDS     8

/*
 * What changed with less chance than this, by itself, has no say in the factors: even a median
 * moves a little towards it, and all other functions would seem to move the other way.
 */
#define FACTOR_CHANCE 0.01

/* Floors of the trend that are tried: none, then powers of ten, four each. */
#define FLOOR_STEPS 25
#define FLOOR_FIRST -6.0
#define FLOOR_STEP  0.25

/* With less, functions tell nothing of each other. */
#define TREND_FUNCTIONS 3

/*
 * The trend is worth so many times what the runs tell of a function by themselves, at most: what
 * disturbs a run disturbs many functions, which then agree and are wrong together. Without this
 * every seventh comparison of two equal runs with two others raises an alarm.
 */
#define PRIOR_TIMES 4.0

/* No variance is taken for less than this part of the usual one: equal counts are chance. */
#define LEAST_VARIANCE 1e-5

/* ---- sums and medians ------------------------------------------------------------------------ */

struct ratio {
	double value, weight;
};

static int by_value(const void *left, const void *right)
{
	const struct ratio *a = left, *b = right;

	return a->value < b->value ? -1 : a->value > b->value;
}

/* Sorts @ratios. 0 of none. */
static double weighted_median(struct ratio *ratios, size_t count)
{
	double all = 0, below = 0;
	size_t i = 0;

	qsort(ratios, count, sizeof(*ratios), by_value);
	for (i = 0; i < count; i++)
		all += ratios[i].weight;
	for (i = 0; i < count; i++) {
		below += ratios[i].weight;
		if (below > all / 2)
			return ratios[i].value;
		if (below == all / 2 && i + 1 < count)
			return (ratios[i].value + ratios[i + 1].value) / 2;
	}
	return 0;
}

/* No weight is to be more than a part of all, as far as there are enough. */
static void cap_weights(struct ratio *ratios, size_t count)
{
	for (int round = 0; round < CAP_ROUNDS; round++) {
		double all = 0;

		for (size_t i = 0; i < count; i++)
			all += ratios[i].weight;
		for (size_t i = 0; i < count; i++)
			ratios[i].weight = fmin(ratios[i].weight, FACTOR_PART * all);
	}
}

static double pooled(const struct shift_counts *counts, size_t function)
{
	double sum = 0;

	for (unsigned run = 0; run < counts->runs; run++)
		sum += counts->at[function * counts->runs + run];
	return sum;
}

static double factor_weight(double mean)
{
	return 1 / (1 / mean + 1 / FACTOR_SAMPLES);
}

static bool is_heavy(const struct shift_counts *counts, double sum)
{
	return sum >= SHIFTS_LEAST_SAMPLES && sum >= SHIFTS_LEAST_SHARE * counts->total;
}

/* ---- one function ---------------------------------------------------------------------------- */

/* What its counts tell by themselves. */
struct observed {
	double mean[2];	 /* of logarithms, old and new */
	double variance; /* over the runs of a side; 0 where each has one */
};

static struct observed observe(const struct shift_counts *counts, size_t function)
{
	const unsigned sizes[2] = {counts->old_runs, counts->runs - counts->old_runs};
	struct observed observed = {{0, 0}, 0};

	for (int pass = 0; pass < 2; pass++)
		for (unsigned run = 0; run < counts->runs; run++) {
			int side = run >= counts->old_runs;
			double y = log(counts->at[function * counts->runs + run] + HALF) -
				   counts->log_factors[run];

			if (!pass)
				observed.mean[side] += y / sizes[side];
			else
				observed.variance +=
					(y - observed.mean[side]) * (y - observed.mean[side]);
		}
	if (counts->runs > 2)
		observed.variance /= counts->runs - 2;
	return observed;
}

static double mean_of_side(const struct shift_counts *counts, size_t function, int side)
{
	unsigned first = side ? counts->old_runs : 0;
	unsigned end = side ? counts->runs : counts->old_runs;
	double sum = 0;

	for (unsigned run = first; run < end; run++)
		sum += counts->at[function * counts->runs + run] / exp(counts->log_factors[run]);
	return sum / (end - first);
}

/* The variance of a difference of means, of runs that vary by 1. */
static double unit_variance(const struct shift_counts *counts)
{
	return 1.0 / counts->old_runs + 1.0 / (counts->runs - counts->old_runs);
}

static void test_shift(const struct shift_counts *counts, struct shift *shift, double variance)
{
	shift->is_tested = true;
	shift->error = sqrt(variance * unit_variance(counts));
	shift->p = student_tails(shift->change / shift->error, shift->df);
}

/* ---- factors --------------------------------------------------------------------------------- */

static struct ratio ratio_of(double count, double mean)
{
	return (struct ratio){log((count + HALF) / (mean + HALF)), factor_weight(mean)};
}

/*
 * The factors of functions that are not @left_out; those too light to be looked at are one.
 * Returns 0 or -ENOMEM.
 */
static int find_factors(
	const struct shift_counts *counts, const bool *left_out, double *log_factors)
{
	struct ratio *ratios = calloc(counts->functions + 2, sizeof(*ratios));

	if (!ratios)
		return -ENOMEM;
	for (unsigned run = 0; run < counts->runs; run++) {
		double light_sum = 0, light = 0;
		size_t used = 0;

		for (size_t i = 0; i < counts->functions; i++) {
			double sum = pooled(counts, i), count = counts->at[i * counts->runs + run];

			if (!is_heavy(counts, sum)) {
				light_sum += sum;
				light += count;
			} else if (!left_out[i]) {
				ratios[used++] = ratio_of(count, sum / counts->runs);
			}
		}
		if (is_heavy(counts, light_sum))
			ratios[used++] = ratio_of(light, light_sum / counts->runs);
		cap_weights(ratios, used);
		log_factors[run] = weighted_median(ratios, used);
	}
	free(ratios);
	return 0;
}

/* Leave out what seems to have changed by itself, unless that is most. Returns whether any is. */
static bool leave_out_changed(const struct shift_counts *counts, bool *left_out)
{
	double df = counts->runs - 2.0, all = 0, out = 0;

	for (size_t i = 0; counts->runs > 2 && i < counts->functions; i++) {
		double sum = pooled(counts, i), weight = factor_weight(sum / counts->runs);
		struct observed observed = observe(counts, i);
		double error = sqrt(observed.variance * unit_variance(counts));

		if (!is_heavy(counts, sum))
			continue;
		all += weight;
		left_out[i] = error > 0 &&
			      student_tails((observed.mean[1] - observed.mean[0]) / error, df) <
				      FACTOR_CHANCE;
		out += left_out[i] ? weight : 0;
	}
	return out > 0 && out < all / 2;
}

int shifts_normalise(const struct shift_counts *counts, double *log_factors)
{
	struct shift_counts seen = *counts;
	bool *left_out = calloc(counts->functions + 1, sizeof(*left_out));
	int error = left_out ? find_factors(counts, left_out, log_factors) : -ENOMEM;

	seen.log_factors = log_factors;
	if (!error && leave_out_changed(&seen, left_out))
		error = find_factors(counts, left_out, log_factors);
	free(left_out);
	return error;
}

/* ---- the trend ------------------------------------------------------------------------------- */

/* A tested function: samples a run, and the variance of their logarithm. */
struct point {
	double count, variance;
};

static double trend_at(double count, double floor)
{
	return 1 / (count + HALF) + floor;
}

/*
 * Mean and variance over functions of the logarithm of how their variances are to the trend of
 * @floor.
 */
static void log_residuals(const struct point *points, size_t count, double floor, double least,
	double *mean, double *variance)
{
	double sum = 0, squares = 0;

	for (size_t i = 0; i < count; i++)
		sum += log(fmax(points[i].variance, least) / trend_at(points[i].count, floor));
	*mean = sum / (double)count;
	for (size_t i = 0; i < count; i++) {
		double rest =
			log(fmax(points[i].variance, least) / trend_at(points[i].count, floor)) -
			*mean;

		squares += rest * rest;
	}
	*variance = squares / (double)(count - 1);
}

static double median_variance(const struct point *points, size_t count)
{
	struct ratio *sorted = calloc(count + 1, sizeof(*sorted));
	double median;

	if (!sorted)
		return -1;
	for (size_t i = 0; i < count; i++)
		sorted[i] = (struct ratio){points[i].variance, 1};
	median = weighted_median(sorted, count);
	free(sorted);
	return median;
}

/*
 * The floor with which variances lie along the trend best; then scale and prior degrees of freedom
 * as Smyth has them (section 6.2): logarithms of variances are spread by what each function's own
 * degrees of freedom make of it, and what is more is how functions differ.
 */
static int fit_trend(const struct point *points, size_t count, struct shift_trend *trend)
{
	double least = median_variance(points, count) * LEAST_VARIANCE, mean, spread,
	       best = INFINITY;

	if (least < 0)
		return -ENOMEM;
	trend->pooled_df = trend->df * (double)count;
	if (count < TREND_FUNCTIONS || least <= 0) {
		trend->prior_df = 0;
		trend->scale = 1;
		return 0;
	}
	for (int step = -1; step < FLOOR_STEPS; step++) {
		double floor = step < 0 ? 0 : pow(10, FLOOR_FIRST + FLOOR_STEP * step);

		log_residuals(points, count, floor, least, &mean, &spread);
		if (spread < best * (1 - 1e-9)) {
			best = spread;
			trend->floor = floor;
		}
	}
	log_residuals(points, count, trend->floor, least, &mean, &spread);
	mean += log(trend->df / 2) - student_digamma(trend->df / 2);
	spread -= student_trigamma(trend->df / 2);
	if (spread > 0) {
		trend->prior_df = 2 * student_trigamma_inverse(spread);
		trend->scale =
			exp(mean + student_digamma(trend->prior_df / 2) - log(trend->prior_df / 2));
		trend->prior_df = fmin(trend->prior_df, PRIOR_TIMES * trend->df);
		return 0;
	}
	trend->prior_df = PRIOR_TIMES * trend->df;
	trend->scale = 0;
	for (size_t i = 0; i < count; i++)
		trend->scale += fmax(points[i].variance, least) /
				trend_at(points[i].count, trend->floor) / (double)count;
	return 0;
}

/* What a function's @variance is taken for, and the degrees of freedom of that. */
static double moderate(const struct shift_trend *trend, double variance, double count, double *df)
{
	double prior = trend->scale * trend_at(count, trend->floor);

	*df = fmin(trend->df + trend->prior_df, trend->pooled_df);
	if (isinf(trend->prior_df)) /* one run on each side */
		return prior;
	return fmax(
		(trend->df * variance + trend->prior_df * prior) / (trend->df + trend->prior_df),
		prior * LEAST_VARIANCE);
}

static int fit_points(
	const struct shift_counts *counts, const struct shift *shifts, struct shift_trend *trend)
{
	struct point *points = calloc(counts->functions + 1, sizeof(*points));
	size_t used = 0;
	int error;

	if (!points)
		return -ENOMEM;
	for (size_t i = 0; i < counts->functions; i++)
		if (shifts[i].is_tested)
			points[used++] = (struct point){
				pooled(counts, i) / counts->runs, observe(counts, i).variance};
	error = fit_trend(points, used, trend);
	free(points);
	return error;
}

int shifts_find(const struct shift_counts *counts, struct shift *shifts, struct shift_trend *trend)
{
	*trend = (struct shift_trend){
		counts->one_run_dispersion, 0, INFINITY, counts->runs - 2.0, INFINITY};
	for (size_t i = 0; i < counts->functions; i++) {
		struct observed observed = observe(counts, i);

		shifts[i] = (struct shift){
			.is_tested = is_heavy(counts, pooled(counts, i)),
			.old_mean = mean_of_side(counts, i, 0),
			.new_mean = mean_of_side(counts, i, 1),
			.change = observed.mean[1] - observed.mean[0],
		};
	}
	if (counts->runs > 2 && fit_points(counts, shifts, trend))
		return -ENOMEM;
	for (size_t i = 0; i < counts->functions; i++) {
		double variance;

		if (!shifts[i].is_tested)
			continue;
		variance = moderate(trend, observe(counts, i).variance,
			pooled(counts, i) / counts->runs, &shifts[i].df);
		test_shift(counts, &shifts[i], variance);
	}
	return 0;
}

struct shift shift_alone(const struct shift_counts *counts)
{
	struct observed observed = observe(counts, 0);
	struct shift shift = {
		.old_mean = mean_of_side(counts, 0, 0),
		.new_mean = mean_of_side(counts, 0, 1),
		.change = observed.mean[1] - observed.mean[0],
		.df = counts->runs - 2.0,
	};

	if (counts->runs > 2 && observed.variance > 0)
		test_shift(counts, &shift, observed.variance);
	return shift;
}

/* ---- all together ---------------------------------------------------------------------------- */

struct chance {
	double p;
	size_t at;
};

static int by_chance(const void *left, const void *right)
{
	const struct chance *a = left, *b = right;

	if (a->p != b->p)
		return a->p < b->p ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

long shifts_holm(const double *p, size_t count, double alpha, double *level)
{
	struct chance *sorted = calloc(count + 1, sizeof(*sorted));
	long told = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		sorted[i] = (struct chance){p[i], i};
	qsort(sorted, count, sizeof(*sorted), by_chance);
	for (size_t i = 0; i < count; i++) {
		bool is_held = (size_t)told == i;

		level[sorted[i].at] = is_held ? alpha / (double)(count - i) : 0;
		told += is_held && sorted[i].p <= level[sorted[i].at];
	}
	free(sorted);
	return told;
}

void shift_interval(const struct shift *shift, double level, double *low, double *high)
{
	double half = student_quantile(level, shift->df) * shift->error;

	*low = shift->change - half;
	*high = shift->change + half;
}

/* Four of five: the quantile that one of five are above. */
#define POWER_TAILS 0.4

double shift_detectable(const struct shift_trend *trend, const struct shift_counts *counts,
	double count, double level)
{
	double prior = trend->scale * trend_at(count, trend->floor), df;
	double error = sqrt(moderate(trend, prior, count, &df) * unit_variance(counts));

	if (df <= 0)
		return INFINITY;
	return expm1((student_quantile(level, df) + student_quantile(POWER_TAILS, df)) * error);
}
