/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Compute how functions' weights changed between old and new runs of a program, from counts of
 * samples, and compare the results with those of R's limma 3.54.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/compare/shifts.h"
#include "cli/compare/student.h"

#define RUNS	  8
#define OLD_RUNS  4
#define FUNCTIONS 7

/*
 * Each row is a function, each column a run. The second function grows, the fifth disappears, and
 * the last has too few samples.
 */
static const double grown[FUNCTIONS * RUNS] = {
	210, 195, 204, 221, 190, 201, 188, 207, /**/
	48, 55, 61, 40, 90, 84, 97, 101,	/**/
	100, 92, 118, 104, 99, 110, 95, 103,	/**/
	33, 21, 29, 38, 25, 30, 36, 27,		/**/
	15, 9, 12, 20, 0, 0, 0, 0,		/**/
	61, 70, 58, 49, 66, 63, 55, 72,		/**/
	2, 1, 0, 3, 1, 2, 1, 0,			/**/
};

/*
 * Counts of three short old runs and four long new runs; the third new run has a fourth of the
 * others' rate.
 */
#define UNEVEN_RUNS	 7
#define UNEVEN_FUNCTIONS 6
static const double uneven[UNEVEN_FUNCTIONS * UNEVEN_RUNS] = {
	41, 33, 39, 2250, 1780, 412, 2210, /**/
	18, 25, 21, 1430, 1574, 281, 1760, /**/
	30, 22, 27, 1290, 1401, 299, 1308, /**/
	12, 17, 9, 660, 702, 160, 725,	   /**/
	21, 19, 26, 1005, 1120, 215, 1066, /**/
	8, 13, 15, 540, 518, 128, 592,	   /**/
};
static const double uneven_grains[UNEVEN_RUNS] = {1, 1, 1, 1, 1, 4, 1};
static const double ones[RUNS] = {1, 1, 1, 1, 1, 1, 1, 1};

static void assert_near(double is, double wanted)
{
	if (fabs(is - wanted) > 2e-7 * fabs(wanted))
		fail_msg("%.10g, not %.10g", is, wanted);
}

static double sizes[RUNS];

/* Make the counts and compute the runs' scale factors into @log_factors, which the caller owns. */
static struct shift_counts counts_of(
	const double *at, size_t functions, unsigned runs, unsigned old_runs, double *log_factors)
{
	struct shift_counts counts = {.at = at,
		.functions = functions,
		.runs = runs,
		.old_runs = old_runs,
		.log_factors = log_factors,
		.sizes = sizes,
		.grains = at == uneven ? uneven_grains : ones,
		.one_run_dispersion = 2};

	for (unsigned run = 0; run < runs; run++) {
		sizes[run] = 0;
		for (size_t i = 0; i < functions; i++)
			sizes[run] += at[i * runs + run];
	}
	assert_true(shifts_normalise(&counts, log_factors) >= 0);
	return counts;
}

static void factors_are_medians_of_ratios(void **state)
{
	static const double wanted[RUNS] = {-0.0122497978, -0.0353662076, 0.00985626412,
		0.0132299159, -0.035840816, 0.0201026884, -0.0768618211, 0.0245536546};
	static const double wanted_uneven[UNEVEN_RUNS] = {-3.16456994, -3.34556908, -3.21007652,
		0.724197132, 0.76851568, -0.835815533, 0.82611467};
	double log_factors[RUNS];

	(void)state;
	counts_of(grown, FUNCTIONS, RUNS, OLD_RUNS, log_factors);
	for (int run = 0; run < RUNS; run++)
		assert_near(log_factors[run], wanted[run]);
	counts_of(uneven, UNEVEN_FUNCTIONS, UNEVEN_RUNS, 3, log_factors);
	for (int run = 0; run < UNEVEN_RUNS; run++)
		assert_near(log_factors[run], wanted_uneven[run]);
}

/*
 * If there are only two functions, it is unknown which of them changed, so the runs get no factors.
 */
static void two_functions_have_no_factors(void **state)
{
	const double at[] = {600, 610, 780, 790, 400, 390, 405, 395};
	double light[50 * 4], log_factors[4];
	struct shift_counts counts = counts_of(at, 2, 4, 2, log_factors);
	struct shift shifts[2];
	struct shift_trend trend;

	(void)state;
	for (int run = 0; run < 4; run++)
		assert_true(log_factors[run] == 0);
	assert_int_equal(shifts_find(&counts, shifts, &trend), 0);
	assert_true(fabs(shifts[0].change - log(1.3)) < 0.02 && fabs(shifts[1].change) < 0.02);
	/* Many functions with too few samples each still determine the factors together. */
	for (int i = 0; i < 50 * 4; i++)
		light[i] = i % 4 < 2 ? 10 : 20;
	counts_of(light, 50, 4, 2, log_factors);
	assert_true(fabs(log_factors[3] - log_factors[0] - log(2)) < 0.03);
}

/*
 * If one function doubles, no other function counts as changed, although the others' shares fall.
 */
static void what_doubles_moves_nothing_else(void **state)
{
	double at[6 * 4], log_factors[4];

	(void)state;
	for (int i = 0; i < 6; i++)
		for (int run = 0; run < 4; run++)
			at[i * 4 + run] = (i == 2 && run >= 2 ? 2 : 1) * (100.0 + 10 * i);
	counts_of(at, 6, 4, 2, log_factors);
	for (int run = 0; run < 4; run++)
		assert_true(fabs(log_factors[run]) < 0.002);
	/* If a run is slower in all functions, its factor corrects this. */
	for (int i = 0; i < 6; i++)
		at[i * 4 + 3] *= 1.5;
	counts_of(at, 6, 4, 2, log_factors);
	assert_true(fabs(log_factors[3] - log_factors[0] - log(1.5)) < 0.01);
}

/*
 * If most functions exist in only one of the two compared sets of runs, the factors of each set are
 * computed without the other set.
 */
static void what_most_lacks_is_no_measure(void **state)
{
	double at[7 * 6], log_factors[6];
	struct shift_counts counts;

	(void)state;
	for (int run = 0; run < 6; run++) {
		double slower = run == 1 || run == 4 ? 1.2 : 1;
		bool is_new = run >= 3;
		double of_one[7] = {is_new ? 0 : 700, is_new ? 0 : 500, is_new ? 900 : 0,
			is_new ? 400 : 0, is_new ? 60 : 100, is_new ? 84 : 80, is_new ? 50 : 60};

		for (int i = 0; i < 7; i++)
			at[i * 6 + run] = slower * (of_one[i] + (run * 7 + i * 5) % 4);
	}
	counts = counts_of(at, 7, 6, 3, log_factors);
	assert_int_equal(shifts_normalise(&counts, log_factors), 0);
	for (int side = 0; side < 6; side += 3) {
		assert_true(fabs(log_factors[side] + log_factors[side + 1] +
				 log_factors[side + 2]) < 1e-9);
		assert_true(
			fabs(log_factors[side ? 4 : 1] - log_factors[side] - log(1.2)) < 0.02);
	}
}

struct wanted {
	double change, error, p, low, high;
};

static void assert_shifts(const struct shift *shifts, const struct wanted *wanted, int count)
{
	double low, high;

	for (int i = 0; i < count; i++) {
		assert_true(shifts[i].is_tested);
		assert_near(shifts[i].change, wanted[i].change);
		assert_near(shifts[i].error, wanted[i].error);
		assert_near(shifts[i].p, wanted[i].p);
		shift_interval(&shifts[i], 0.05, &low, &high);
		assert_near(low, wanted[i].low);
		assert_near(high, wanted[i].high);
	}
}

/* Compare with limma: variances by the trend of fitFDist(), then Smyth's moderated t. */
static void shifts_are_those_of_limma(void **state)
{
	static const struct wanted wanted[] = {
		{-0.0434758569, 0.0315777329, 0.193217197, -0.112121892, 0.0251701784},
		{0.617595668, 0.0885336863, 1.32963503e-05, 0.425134526, 0.810056811},
		{-0.00562238168, 0.0503720276, 0.912934923, -0.115124859, 0.103880096},
		{-0.00780675633, 0.125340623, 0.951341079, -0.280281568, 0.264668055},
		{-3.3228154, 0.18063218, 2.70837732e-10, -3.71548713, -2.93014367},
		{0.0912183702, 0.0815632379, 0.284857253, -0.0860898908, 0.268526631},
	};
	double log_factors[RUNS];
	struct shift_counts counts = counts_of(grown, FUNCTIONS, RUNS, OLD_RUNS, log_factors);
	struct shift shifts[FUNCTIONS];
	struct shift_trend trend;

	(void)state;
	assert_int_equal(shifts_find(&counts, shifts, &trend), 0);
	assert_near(trend.scale, 0.626755695);
	assert_near(trend.prior_df, 6.25086615);
	assert_true(trend.floor == 0);
	assert_near(shifts[0].df, 12.25086615);
	assert_shifts(shifts, wanted, FUNCTIONS - 1);
	assert_false(shifts[FUNCTIONS - 1].is_tested);
	assert_near(shift_detectable(&trend, &counts, 0.2, 0.005), 0.277803165);
}

/* Compare with limma: the runs' precisions are the weights of lmFit(). */
static void uneven_runs_are_weighted_as_limma_does(void **state)
{
	static const struct wanted wanted[] = {
		{-0.0161495475, 0.103855845, 0.877676179, -0.230044664, 0.197745569},
		{0.269426894, 0.115065768, 0.0274776988, 0.0324445083, 0.50640928},
		{-0.0884426087, 0.108087484, 0.420945457, -0.311052949, 0.134167732},
		{0.00148848655, 0.151713576, 0.992249825, -0.310971473, 0.313948446},
		{-0.14993784, 0.115108365, 0.204590408, -0.387007956, 0.0871322761},
		{-0.190877785, 0.161061308, 0.247111741, -0.522589758, 0.140834188},
	};
	double log_factors[RUNS];
	struct shift_counts counts =
		counts_of(uneven, UNEVEN_FUNCTIONS, UNEVEN_RUNS, 3, log_factors);
	struct shift shifts[UNEVEN_FUNCTIONS];
	struct shift_trend trend;

	(void)state;
	assert_int_equal(shifts_find(&counts, shifts, &trend), 0);
	assert_near(trend.scale, 0.765089228);
	assert_near(trend.floor, pow(10, -2.25));
	assert_near(shifts[0].df, 25);
	assert_shifts(shifts, wanted, UNEVEN_FUNCTIONS);
	assert_near(shift_detectable(&trend, &counts, 0.2, 0.005), 0.548788753);
}

/* Levels as in p.adjust(, "holm") <= 0.05. */
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

/* If each side has one run, changes are compared with an assumed dispersion. */
static void one_run_each_is_held_against_usual_dispersion(void **state)
{
	const double at[] = {400, 400, 400, 430, 300, 330, 200, 500, 360, 0};
	double log_factors[2];
	struct shift_counts counts = counts_of(at, 5, 2, 1, log_factors);
	struct shift shifts[5];
	struct shift_trend trend;

	(void)state;
	assert_int_equal(shifts_find(&counts, shifts, &trend), 0);
	assert_near(shifts[0].error, sqrt(2 * (2 / (400 + 0.5))));
	assert_true(isinf(shifts[0].df));
	assert_true(shifts[3].p < 1e-6 && shifts[1].p > 0.1);
	assert_false(shift_alone(at, 2, 1).is_tested);
}

/* A run that is ten times shorter has a tenth of the precision. */
static void a_short_run_knows_little(void **state)
{
	const double at[] = {40, 600, 40, 400, 40, 300, 4, 40};
	double log_factors[2];
	struct shift_counts counts = counts_of(at, 4, 2, 1, log_factors);
	struct shift shifts[4];
	struct shift_trend trend;

	(void)state;
	assert_int_equal(shifts_find(&counts, shifts, &trend), 0);
	assert_true(shifts[0].is_tested && shifts[0].error > sqrt(2.0 / 55));
	assert_true(shifts[0].p > 0.05);
	assert_false(shifts[3].is_tested);
	assert_true(shift_bound(&shifts[3], 2.6) >
		    fabs(shifts[3].new_mean - shifts[3].old_mean));
}

/*
 * If only some runs have a function, the bound for its change must not be computed from logarithms
 * alone, because that bound would allow any change.
 */
static void what_some_runs_have_moved_by_what_it_has(void **state)
{
	double at[5 * 8], log_factors[8], low, high;
	const double bursts[] = {0, 0, 40, 0, 90, 0, 90, 0};
	struct shift_counts counts;
	struct shift shifts[5];
	struct shift_trend trend;

	(void)state;
	for (int i = 0; i < 5; i++)
		for (int run = 0; run < 8; run++)
			at[i * 8 + run] = i < 4 ? 600 + 40 * i + run % 3 * 10 : bursts[run];
	counts = counts_of(at, 5, 8, 4, log_factors);
	assert_int_equal(shifts_find(&counts, shifts, &trend), 0);
	assert_true(shifts[4].is_tested);
	shift_interval(&shifts[4], 0.01, &low, &high);
	assert_true(exp(high) * shifts[4].old_mean > 1000);
	assert_true(shift_bound(&shifts[4], 3) > 80 && shift_bound(&shifts[4], 3) < 200);
	/*
	 * For a function that all runs have, the bound computed from logarithms is the smaller one.
	 */
	shift_interval(&shifts[0], 0.01, &low, &high);
	assert_true(shift_bound(&shifts[0], student_quantile(0.01, shifts[0].df)) <=
		    expm1(fmax(high, -low)) * 650);
}

/* Counts without variance, and too few functions for a trend, must give finite results. */
static void degenerate_counts_are_survived(void **state)
{
	const double equal[] = {100, 100, 100, 100, 60, 60, 60, 60};
	const double single[] = {100, 120, 105, 110};
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
		cmocka_unit_test(two_functions_have_no_factors),
		cmocka_unit_test(what_doubles_moves_nothing_else),
		cmocka_unit_test(what_most_lacks_is_no_measure),
		cmocka_unit_test(shifts_are_those_of_limma),
		cmocka_unit_test(uneven_runs_are_weighted_as_limma_does),
		cmocka_unit_test(holms_levels_are_stepwise),
		cmocka_unit_test(one_run_each_is_held_against_usual_dispersion),
		cmocka_unit_test(a_short_run_knows_little),
		cmocka_unit_test(what_some_runs_have_moved_by_what_it_has),
		cmocka_unit_test(degenerate_counts_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
