/* SPDX-License-Identifier: MIT */
/*
 * Half a sample is added to each count, so that the logarithm is finite even if a version does not
 * have the function.
 *
 * Runs differ in length and sampling rate. So each run is weighted by the number of samples that it
 * should have of the function if nothing changed, as in limma's voom.
 */
#include "cli/compare/shifts.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/student.h"

#define HALF 0.5

/*
 * Limits of a function's weight in the weighted median that becomes a run's factor: FACTOR_SAMPLES,
 * however many samples the function has, and FACTOR_PART of the sum of weights. Without these
 * limits, one hot loop alone would decide the factor.
 */
#define FACTOR_SAMPLES 400.0
#define FACTOR_PART    0.25
#define CAP_ROUNDS     8

/* Minimum number of functions for a factor: if two differ, either may be the one that changed. */
#define FACTOR_FUNCTIONS 3

/*
 * Functions whose change has a lower p-value are left out of the factors: they would move even a
 * median, and all other functions would seem to move the other way. If they are most of the
 * program, as after a change of the optimisation level, the factors of the two sides are computed
 * separately.
 */
#define FACTOR_CHANCE 0.01

/* find_floor() tries 0 and these floors: from 1e-6 to 1, four per power of ten. */
#define FLOOR_STEPS 25
#define FLOOR_FIRST -6.0
#define FLOOR_STEP  0.25

/* Minimum number of tested functions to fit a trend to. */
#define TREND_FUNCTIONS 3

/*
 * Maximum weight of the trend's variance against a function's own variance, in multiples of the
 * function's degrees of freedom. A disturbance of one run affects many functions, whose variances
 * then agree on a wrong value. Without this limit, every seventh comparison of two equal runs with
 * two more equal runs gives a false alarm.
 */
#define PRIOR_TIMES 4.0

/* Minimum variance as a part of the usual variance, because counts may be equal by chance. */
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

/* Returns the weighted median of @ratios, which are sorted here; 0 if there are none. */
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

/* Lower weights to FACTOR_PART of their sum. Each round lowers the sum, so there are several. */
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

static double factor_weight(double samples)
{
	return 1 / (1 / samples + 1 / FACTOR_SAMPLES);
}

static double sum_of(const double *of, unsigned first, unsigned end)
{
	double sum = 0;

	for (unsigned run = first; run < end; run++)
		sum += of[run];
	return sum;
}

/* ---- one function ---------------------------------------------------------------------------- */

/* Returns the mean of two shares: the function's share of the old runs, and of the new runs. */
static double share_of(const struct shift_counts *counts, size_t function)
{
	const double *at = counts->at + function * counts->runs;
	unsigned old = counts->old_runs, runs = counts->runs;

	return sum_of(at, 0, old) / sum_of(counts->sizes, 0, old) / 2 +
	       sum_of(at, old, runs) / sum_of(counts->sizes, old, runs) / 2;
}

/* Returns the number of samples that @run should have of a function with @share. */
static double expected(const struct shift_counts *counts, double share, unsigned run)
{
	return share * counts->sizes[run] / counts->grains[run];
}

static bool is_heavy(const struct shift_counts *counts, double share)
{
	double samples[2] = {0, 0};

	if (share < SHIFTS_LEAST_SHARE) /* is false for most functions */
		return false;
	for (unsigned run = 0; run < counts->runs; run++)
		samples[run >= counts->old_runs] += expected(counts, share, run);
	return samples[0] >= SHIFTS_LEAST_SAMPLES && samples[1] >= SHIFTS_LEAST_SAMPLES;
}

/* Compute the precision (1 / variance) of each side's mean, from the runs' expected samples. */
static void side_precisions(
	const struct shift_counts *counts, double share, double floor, double precision[2])
{
	precision[0] = precision[1] = 0;
	for (unsigned run = 0; run < counts->runs; run++)
		precision[run >= counts->old_runs] +=
			1 / (1 / (expected(counts, share, run) + HALF) + floor);
}

/* Statistics of one function. */
struct observed {
	double mean[2];	     /* of logarithms; old and new */
	double precision[2]; /* of each mean */
	/* variance between the runs of a side, at a precision of 1; 0 if each side has one run */
	double variance;
};

static struct observed observe(const struct shift_counts *counts, size_t function, double floor)
{
	double share = share_of(counts, function);
	struct observed observed = {.variance = 0};

	side_precisions(counts, share, floor, observed.precision);
	for (int pass = 0; pass < 2; pass++)
		for (unsigned run = 0; run < counts->runs; run++) {
			int side = run >= counts->old_runs;
			double precision = 1 / (1 / (expected(counts, share, run) + HALF) + floor);
			double y = log(counts->at[function * counts->runs + run] +
					   HALF * counts->grains[run]) -
				   counts->log_factors[run];

			if (!pass)
				observed.mean[side] += y * precision / observed.precision[side];
			else
				observed.variance += precision * (y - observed.mean[side]) *
						     (y - observed.mean[side]);
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

void shifts_of_means(const struct shift_counts *counts, struct shift *shifts)
{
	for (size_t i = 0; i < counts->functions; i++) {
		double old_mean = mean_of_side(counts, i, 0), new_mean = mean_of_side(counts, i, 1);

		shifts[i] = (struct shift){
			.is_tested = share_of(counts, i) >= SHIFTS_LEAST_SHARE,
			.old_mean = old_mean,
			.new_mean = new_mean,
			.change = log((new_mean + HALF) / (old_mean + HALF)),
			.df = INFINITY,
			.p = NAN,
		};
	}
}

/* Returns the standard error of the difference of means, if a run's variance is @variance. */
static double error_of(const double precision[2], double variance)
{
	return sqrt(variance * (1 / precision[0] + 1 / precision[1]));
}

/* ---- factors --------------------------------------------------------------------------------- */

/* Runs to compute factors for: all runs, or the runs of one side. */
struct span {
	unsigned first, end;
};

/* A function or group of functions: its share, its count in the span and in one run. */
struct counted {
	double share, sum, count;
};

/* Returns the function's share in @span. If @span is both sides, each side counts half. */
static double share_in(const struct shift_counts *counts, size_t function, struct span span)
{
	if (span.end - span.first == counts->runs)
		return share_of(counts, function);
	return sum_of(counts->at + function * counts->runs, span.first, span.end) /
	       sum_of(counts->sizes, span.first, span.end);
}

/*
 * Divide @of into @pieces equal parts. Returns log(count in @run / count expected for the run's
 * size) of one part, and the weight of this ratio in the median.
 */
static struct ratio ratio_of(const struct shift_counts *counts, struct span span,
	const struct counted *of, double pieces, unsigned run)
{
	double half = HALF * counts->grains[run];
	double size = counts->sizes[run] / sum_of(counts->sizes, span.first, span.end);

	return (struct ratio){log((of->count / pieces + half) / (of->sum / pieces * size + half)),
		factor_weight(expected(counts, of->share / pieces, run))};
}

/* Compute ratios of @run: one per heavy function, some for all light ones. Returns how many. */
static size_t find_ratios(const struct shift_counts *counts, struct span span,
	const bool *left_out, unsigned run, struct ratio *ratios)
{
	struct counted light = {0, 0, 0};
	double heaviest = 0;
	size_t used = 0;

	for (size_t i = 0; i < counts->functions; i++) {
		const double *at = counts->at + i * counts->runs;
		struct counted one = {share_in(counts, i, span), sum_of(at, span.first, span.end),
			at[run]};

		if (!is_heavy(counts, one.share)) {
			light.share += one.share;
			light.sum += one.sum;
			light.count += one.count;
			heaviest = fmax(heaviest, one.share);
		} else if (!left_out || !left_out[i]) {
			ratios[used++] = ratio_of(counts, span, &one, 1, run);
		}
	}
	if (is_heavy(counts, light.share)) {
		int pieces = (int)fmin(floor(light.share / heaviest), FACTOR_FUNCTIONS);

		for (int i = 0; i < pieces; i++)
			ratios[used++] = ratio_of(counts, span, &light, pieces, run);
	}
	return used;
}

/*
 * Compute factors from the functions that @left_out does not mark (NULL: from all). Functions with
 * too few samples form a group. It counts as up to FACTOR_FUNCTIONS functions, if its share is that
 * many times the share of its heaviest function. Returns the number of ratios per run, or -ENOMEM.
 */
static int find_factors(const struct shift_counts *counts, struct span span, const bool *left_out,
	double *log_factors)
{
	struct ratio *ratios = calloc(counts->functions + FACTOR_FUNCTIONS, sizeof(*ratios));
	double size = sum_of(counts->sizes, span.first, span.end) / (span.end - span.first);
	size_t used = 0;

	if (!ratios)
		return -ENOMEM;
	for (unsigned run = span.first; run < span.end; run++) {
		used = find_ratios(counts, span, left_out, run, ratios);
		cap_weights(ratios, used);
		log_factors[run] = 0;
		if (counts->sizes[run] > 0)
			log_factors[run] =
				weighted_median(ratios, used) + log(counts->sizes[run] / size);
	}
	free(ratios);
	return used < INT_MAX ? (int)used : INT_MAX;
}

/* Did the function change by itself? With one run per side, assume one_run_dispersion. */
static bool has_changed(const struct shift_counts *counts, size_t function)
{
	struct observed observed = observe(counts, function, 0);
	bool is_pair = counts->runs == 2;
	double error = error_of(
		observed.precision, is_pair ? counts->one_run_dispersion : observed.variance);
	double df = is_pair ? INFINITY : counts->runs - 2.0;

	return error > 0 && student_tails((observed.mean[1] - observed.mean[0]) / error, df) <
				    FACTOR_CHANCE;
}

/* Set @left_out for functions that changed. Returns true if all others together weigh more. */
static bool leave_out_changed(const struct shift_counts *counts, bool *left_out)
{
	double all = 0, out = 0;

	for (size_t i = 0; i < counts->functions; i++) {
		double share = share_of(counts, i),
		       weight = factor_weight(share * counts->sizes[0]);

		if (!is_heavy(counts, share))
			continue;
		all += weight;
		left_out[i] = has_changed(counts, i);
		out += left_out[i] ? weight : 0;
	}
	return out == 0 || out < all / 2;
}

/* Compute factors with a mean of 0 for each side. The sides are compared without a factor. */
static int find_factors_of_sides(const struct shift_counts *counts, double *log_factors)
{
	const struct span sides[2] = {{0, counts->old_runs}, {counts->old_runs, counts->runs}};

	for (int i = 0; i < 2; i++) {
		unsigned runs = sides[i].end - sides[i].first;
		int used = find_factors(counts, sides[i], NULL, log_factors);
		double mean = sum_of(log_factors, sides[i].first, sides[i].end) / runs;

		if (used < 0)
			return used;
		for (unsigned run = sides[i].first; run < sides[i].end; run++)
			log_factors[run] =
				used < FACTOR_FUNCTIONS ? 0 : log_factors[run] - mean;
	}
	return 0;
}

int shifts_normalise(const struct shift_counts *counts, double *log_factors)
{
	const struct span all = {0, counts->runs};
	struct shift_counts seen = *counts;
	bool *left_out = calloc(counts->functions + 1, sizeof(*left_out));
	int used = left_out ? find_factors(counts, all, NULL, log_factors) : -ENOMEM;
	bool are_alike = false;

	seen.log_factors = log_factors;
	if (used >= FACTOR_FUNCTIONS) {
		are_alike = leave_out_changed(&seen, left_out);
		used = find_factors(counts, all, left_out, log_factors);
	}
	are_alike = are_alike && used >= FACTOR_FUNCTIONS;
	if (used >= 0 && !are_alike)
		used = find_factors_of_sides(counts, log_factors);
	free(left_out);
	return used < 0 ? used : are_alike;
}

/* ---- the trend ------------------------------------------------------------------------------- */

/* Variances of tested functions at one floor. The mean and variance (spread) are of their logs. */
struct variances {
	double *at;
	size_t count;
	double minimum; /* lower variances are raised */
	double mean, spread;
};

/* Returns 0 or -ENOMEM. */
static int find_minimum(struct variances *variances)
{
	struct ratio *sorted = calloc(variances->count + 1, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < variances->count; i++)
		sorted[i] = (struct ratio){variances->at[i], 1};
	variances->minimum = LEAST_VARIANCE * weighted_median(sorted, variances->count);
	free(sorted);
	return 0;
}

/* Returns 0 or -ENOMEM. With a variance of 0, `mean` and `spread` are not finite. */
static int find_variances(const struct shift_counts *counts, const struct shift *shifts,
	double floor, struct variances *variances)
{
	variances->count = 0;
	for (size_t i = 0; i < counts->functions; i++)
		if (shifts[i].is_tested)
			variances->at[variances->count++] = observe(counts, i, floor).variance;
	if (find_minimum(variances))
		return -ENOMEM;
	variances->mean = variances->spread = 0;
	for (size_t i = 0; i < variances->count; i++) {
		variances->at[i] = fmax(variances->at[i], variances->minimum);
		variances->mean += log(variances->at[i]) / (double)variances->count;
	}
	for (size_t i = 0; i < variances->count; i++)
		variances->spread += pow(log(variances->at[i]) - variances->mean, 2) /
				     ((double)variances->count - 1);
	return 0;
}

/* Find the floor at which the logarithms of variances differ least. Returns 0 or -ENOMEM. */
static int find_floor(const struct shift_counts *counts, const struct shift *shifts,
	struct variances *variances, double *best_floor)
{
	double best = INFINITY;

	for (int step = 0; step < FLOOR_STEPS; step++) {
		double floor = pow(10, FLOOR_FIRST + FLOOR_STEP * step);

		if (find_variances(counts, shifts, floor, variances))
			return -ENOMEM;
		if (variances->spread < best * (1 - 1e-9)) {
			best = variances->spread;
			*best_floor = floor;
		}
	}
	if (find_variances(counts, shifts, 0, variances))
		return -ENOMEM;
	if (variances->spread <= best)
		*best_floor = 0;
	return find_variances(counts, shifts, *best_floor, variances);
}

/*
 * Estimate the trend's scale and prior degrees of freedom as in Smyth, section 6.2. With few
 * degrees of freedom, log variances spread by chance; the excess is how functions truly differ.
 */
static void fit_prior(const struct variances *variances, struct shift_trend *trend)
{
	double mean = variances->mean + log(trend->df / 2) - student_digamma(trend->df / 2);
	double spread = variances->spread - student_trigamma(trend->df / 2);

	if (spread > 0) {
		trend->prior_df = 2 * student_trigamma_inverse(spread);
		trend->scale =
			exp(mean + student_digamma(trend->prior_df / 2) - log(trend->prior_df / 2));
		trend->prior_df = fmin(trend->prior_df, PRIOR_TIMES * trend->df);
		return;
	}
	trend->prior_df = PRIOR_TIMES * trend->df;
	trend->scale = 0;
	for (size_t i = 0; i < variances->count; i++)
		trend->scale += variances->at[i] / (double)variances->count;
}

/* Returns 0 or -ENOMEM. */
static int fit_trend(
	const struct shift_counts *counts, const struct shift *shifts, struct shift_trend *trend)
{
	struct variances variances = {.at = calloc(counts->functions + 1, sizeof(*variances.at))};
	int error = variances.at ? find_variances(counts, shifts, 0, &variances) : -ENOMEM;

	trend->pooled_df = trend->df * (double)variances.count;
	trend->scale = 1;
	trend->prior_df = 0;
	if (!error && variances.minimum <= 0) {
		/* A median variance of 0 says nothing about chance, so assume Poisson counts. */
		trend->prior_df = PRIOR_TIMES * trend->df;
	} else if (!error && variances.count < TREND_FUNCTIONS) {
		trend->scale = exp(variances.mean);
	} else if (!error) {
		error = find_floor(counts, shifts, &variances, &trend->floor);
		if (!error)
			fit_prior(&variances, trend);
	}
	free(variances.at);
	return error;
}

/* Returns the mean of @variance and the trend's, weighted by degrees of freedom. Sets *@df. */
static double moderate(const struct shift_trend *trend, double variance, double *df)
{
	*df = fmin(trend->df + trend->prior_df, trend->pooled_df);
	if (isinf(trend->prior_df)) /* one run on each side */
		return trend->scale;
	return fmax((trend->df * variance + trend->prior_df * trend->scale) /
			    (trend->df + trend->prior_df),
		trend->scale * LEAST_VARIANCE);
}

/* Returns the variance, in samples, of the difference of means if each run has one sample. */
static double unit_variance(const struct shift_counts *counts, double scale)
{
	double unit = 0;

	for (unsigned run = 0; run < counts->runs; run++) {
		double runs =
			run < counts->old_runs ? counts->old_runs : counts->runs - counts->old_runs;

		unit += scale * counts->grains[run] / exp(counts->log_factors[run]) / (runs * runs);
	}
	return unit;
}

/* Estimate the variance of the difference of means, in samples, from @function's counts. */
static double observed_variance(
	const struct shift_counts *counts, size_t function, const struct shift *shift)
{
	double old_runs = counts->old_runs, new_runs = counts->runs - old_runs, squares = 0;

	for (unsigned run = 0; counts->runs > 2 && run < counts->runs; run++)
		squares += pow(counts->at[function * counts->runs + run] /
						exp(counts->log_factors[run]) -
					(run < old_runs ? shift->old_mean : shift->new_mean),
			2);
	return counts->runs > 2 ? squares / (counts->runs - 2.0) * (1 / old_runs + 1 / new_runs)
				: 0;
}

int shifts_find(const struct shift_counts *counts, struct shift *shifts, struct shift_trend *trend)
{
	double unit, usual_df;

	*trend = (struct shift_trend){
		counts->one_run_dispersion, 0, INFINITY, counts->runs - 2.0, INFINITY};
	for (size_t i = 0; i < counts->functions; i++)
		shifts[i] = (struct shift){
			.is_tested = is_heavy(counts, share_of(counts, i)),
			.old_mean = mean_of_side(counts, i, 0),
			.new_mean = mean_of_side(counts, i, 1),
		};
	if (counts->runs > 2 && fit_trend(counts, shifts, trend))
		return -ENOMEM;
	unit = unit_variance(counts, moderate(trend, trend->scale, &usual_df));
	for (size_t i = 0; i < counts->functions; i++) {
		struct observed observed = observe(counts, i, trend->floor);
		struct shift *shift = &shifts[i];
		double usual = unit * ((shift->old_mean + shift->new_mean) / 2 + HALF);

		shift->df = usual_df;
		shift->mean_error = sqrt(usual);
		if (!shift->is_tested)
			continue;
		shift->mean_error = sqrt(fmax(usual, observed_variance(counts, i, shift)));
		shift->change = observed.mean[1] - observed.mean[0];
		shift->error = error_of(
			observed.precision, moderate(trend, observed.variance, &shift->df));
		shift->p = student_tails(shift->change / shift->error, shift->df);
	}
	return 0;
}

struct shift shift_alone(const double *counts, unsigned runs, unsigned old_runs)
{
	const double precision[2] = {old_runs, runs - old_runs};
	struct shift shift = {.df = runs - 2.0};
	double means[2] = {0, 0}, squares = 0;

	for (unsigned run = 0; run < runs; run++) {
		means[run >= old_runs] += log(counts[run] + HALF) / precision[run >= old_runs];
		*(run < old_runs ? &shift.old_mean : &shift.new_mean) +=
			counts[run] / precision[run >= old_runs];
	}
	for (unsigned run = 0; run < runs; run++)
		squares += pow(log(counts[run] + HALF) - means[run >= old_runs], 2);
	shift.change = means[1] - means[0];
	shift.is_tested = squares > 0 && runs > 2;
	if (!shift.is_tested)
		return shift;
	shift.error = error_of(precision, squares / shift.df);
	shift.p = student_tails(shift.change / shift.error, shift.df);
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
	long passed = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		sorted[i] = (struct chance){p[i], i};
	qsort(sorted, count, sizeof(*sorted), by_chance);
	for (size_t i = 0; i < count; i++) {
		bool is_held = (size_t)passed == i;

		level[sorted[i].at] = is_held ? alpha / (double)(count - i) : 0;
		passed += is_held && sorted[i].p <= level[sorted[i].at];
	}
	free(sorted);
	return passed;
}

void shift_interval(const struct shift *shift, double level, double *low, double *high)
{
	double half = student_quantile(level, shift->df) * shift->error;

	*low = shift->change - half;
	*high = shift->change + half;
}

/* Twice the chance that a comparison misses a change as large as shift_detectable() returns. */
#define POWER_TAILS 0.4

double shift_detectable(const struct shift_trend *trend, const struct shift_counts *counts,
	double share, double level)
{
	double precision[2], df, error;

	side_precisions(counts, share, trend->floor, precision);
	error = error_of(precision, moderate(trend, trend->scale, &df));
	if (df <= 0)
		return INFINITY;
	return expm1((student_quantile(level, df) + student_quantile(POWER_TAILS, df)) * error);
}

double shift_bound(const struct shift *shift, double times)
{
	double bound = fabs(shift->new_mean - shift->old_mean) + times * shift->mean_error;
	double half = times * shift->error;

	if (!shift->is_tested)
		return bound;
	return fmin(bound, (shift->old_mean + HALF) * fmax(fabs(expm1(shift->change - half)),
							  fabs(expm1(shift->change + half))));
}
