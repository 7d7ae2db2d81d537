/* SPDX-License-Identifier: MIT */
/* Counts of runs to what changed, against what R's limma 3.54 says of the same counts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/compare/shifts.h"

#define RUNS	  8
#define OLD_RUNS  4
#define FUNCTIONS 7

/* The second function grows, the fifth goes, the last is too light to be looked at. */
static const double grown[FUNCTIONS * RUNS] = {
	210, 195, 204, 221, 190, 201, 188, 207, /**/
	48, 55, 61, 40, 90, 84, 97, 101,	/**/
	100, 92, 118, 104, 99, 110, 95, 103,	/**/
	33, 21, 29, 38, 25, 30, 36, 27,		/**/
	15, 9, 12, 20, 0, 0, 0, 0,		/**/
	61, 70, 58, 49, 66, 63, 55, 72,		/**/
	2, 1, 0, 3, 1, 2, 1, 0,			/**/
};

static void assert_near(double is, double wanted)
{
	if (fabs(is - wanted) > 2e-7 * fabs(wanted))
		fail_msg("%.10g, not %.10g", is, wanted);
}

/* What is compared; factors are the caller's. */
static struct shift_counts counts_of(
	const double *at, size_t functions, unsigned runs, unsigned old_runs, double *log_factors)
{
	struct shift_counts counts = {.at = at,
		.functions = functions,
		.runs = runs,
		.old_runs = old_runs,
		.log_factors = log_factors,
		.one_run_dispersion = 2};

	for (size_t i = 0; i < functions * runs; i++)
		counts.total += at[i];
	assert_int_equal(shifts_normalise(&counts, log_factors), 0);
	return counts;
}

static void factors_are_medians_of_ratios(void **state)
{
	static const double wanted[RUNS] = {-0.0121213605, -0.0351795071, 0.00982808894,
		0.0132452268, -0.0357842005, 0.0198813706, -0.0768155972,
		0.0243914531};
	double log_factors[RUNS];

	(void)state;
	counts_of(grown, FUNCTIONS, RUNS, OLD_RUNS, log_factors);
	for (int run = 0; run < RUNS; run++)
		assert_near(log_factors[run], wanted[run]);
}

/* One that doubles leaves the others where they are, though all their shares fall. */
static void what_doubles_moves_nothing_else(void **state)
{
	double at[6 * 4], log_factors[4];

	(void)state;
	for (int i = 0; i < 6; i++)
		for (int run = 0; run < 4; run++)
			at[i * 4 + run] = (i == 2 && run >= 2 ? 2 : 1) * (100.0 + 10 * i);
	counts_of(at, 6, 4, 2, log_factors);
	for (int run = 0; run < 4; run++)
		assert_true(fabs(log_factors[run]) < 1e-12);
	/* A run that is slower in all is known by its factor. */
	for (int i = 0; i < 6; i++)
		at[i * 4 + 3] *= 1.5;
	counts_of(at, 6, 4, 2, log_factors);
	assert_true(fabs(log_factors[3] - log_factors[0] - log(1.5)) < 0.01);
}

/* fitFDist() of the variances by the trend, then Smyth's moderated t. */
static void shifts_are_those_of_limma(void **state)
{
	static const struct {
		double change, error, p, low, high;
	} wanted[] = {
		{-0.0430665632, 0.0317414539, 0.199459561, -0.112111542, 0.0259784154},
		{0.616956504, 0.0887794717, 1.42339427e-05, 0.423840689, 0.810072319},
		{-0.00337398917, 0.0506731921, 0.947993832, -0.113599862, 0.106851884},
		{-0.000661013888, 0.126846424, 0.995926509, -0.276581225, 0.275259197},
		{-3.31669366, 0.183290983, 3.5844598e-10, -3.7153938, -2.91799353},
		{0.0866653874, 0.0824255298, 0.313469678, -0.092629139, 0.265959914},
	};
	double log_factors[RUNS], low, high;
	struct shift_counts counts = counts_of(grown, FUNCTIONS, RUNS, OLD_RUNS, log_factors);
	struct shift shifts[FUNCTIONS];
	struct shift_trend trend;

	(void)state;
	assert_int_equal(shifts_find(&counts, shifts, &trend), 0);
	assert_near(trend.scale, 0.635202193);
	assert_near(trend.prior_df, 6.1808462);
	assert_true(trend.floor == 0);
	for (int i = 0; i < FUNCTIONS - 1; i++) {
		assert_true(shifts[i].is_tested);
		assert_near(shifts[i].change, wanted[i].change);
		assert_near(shifts[i].error, wanted[i].error);
		assert_near(shifts[i].df, 12.1808462);
		assert_near(shifts[i].p, wanted[i].p);
		shift_interval(&shifts[i], 0.05, &low, &high);
		assert_near(low, wanted[i].low);
		assert_near(high, wanted[i].high);
	}
	assert_false(shifts[FUNCTIONS - 1].is_tested);
	assert_near(shift_detectable(&trend, &counts, 100, 0.005), 0.272706969);
}

/* p.adjust(, "holm") <= 0.05 */
static void holms_levels_are_stepwise(void **state)
{
	const double p[] = {0.02, 0.9, 0.001, 0.012, 0.04};
	double level[5];

	(void)state;
	assert_int_equal(shifts_holm(p, 5, 0.05, level), 2);
	assert_true(p[2] <= level[2] && p[3] <= level[3]);
	assert_near(level[2], 0.01);
	assert_near(level[3], 0.0125);
	assert_near(level[0], 0.05 / 3);
	assert_true(level[4] == 0 && level[1] == 0);
	assert_int_equal(shifts_holm(p, 0, 0.05, level), 0);
}

/* Nobody knows how runs vary: what is told apart has to be so many times what samples vary. */
static void one_run_each_is_held_against_usual_dispersion(void **state)
{
	const double at[] = {400, 400, 400, 430, 300, 330, 200, 500};
	double log_factors[2];
	struct shift_counts counts = counts_of(at, 4, 2, 1, log_factors);
	struct shift shifts[4];
	struct shift_trend trend;

	(void)state;
	assert_int_equal(shifts_find(&counts, shifts, &trend), 0);
	assert_near(shifts[0].error, sqrt(2 * 2 / 400.5));
	assert_true(isinf(shifts[0].df));
	assert_true(shifts[3].p < 1e-6 && shifts[1].p > 0.1);
	assert_false(shift_alone(&counts).is_tested);
}

/* Counts that do not vary at all, and too few functions for a trend, end in numbers. */
static void degenerate_counts_are_survived(void **state)
{
	const double equal[] = {100, 100, 100, 100, 60, 60, 60, 60};
	const double single[] = {100, 120, 150, 190};
	double log_factors[4];
	struct shift_counts counts = counts_of(equal, 2, 4, 2, log_factors);
	struct shift shifts[2];
	struct shift_trend trend;

	(void)state;
	assert_int_equal(shifts_find(&counts, shifts, &trend), 0);
	for (int i = 0; i < 2; i++)
		assert_false(shifts[i].is_tested && shifts[i].p <= 0.5);
	counts = counts_of(single, 1, 4, 2, log_factors);
	assert_int_equal(shifts_find(&counts, shifts, &trend), 0);
	assert_false(shifts[0].is_tested && shifts[0].p <= 0.5);
	counts = counts_of(single, 0, 4, 2, log_factors);
	assert_int_equal(shifts_find(&counts, shifts, &trend), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(factors_are_medians_of_ratios),
		cmocka_unit_test(what_doubles_moves_nothing_else),
		cmocka_unit_test(what_doubles_moves_nothing_else),
		cmocka_unit_test(shifts_are_those_of_limma),
		cmocka_unit_test(holms_levels_are_stepwise),
		cmocka_unit_test(one_run_each_is_held_against_usual_dispersion),
		cmocka_unit_test(degenerate_counts_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
