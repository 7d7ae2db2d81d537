/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* Compare Student's t distribution and related functions with R 4.2. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/compare/student.h"

static void assert_near(double is, double wanted)
{
	if (fabs(is - wanted) > 1e-9 * fabs(wanted))
		fail_msg("%.12g, not %.12g", is, wanted);
}

/*
 * The first value is R's 2 * pt(-2.5, 3.7). With df 1 the distribution is Cauchy's, with infinite
 * df the normal one.
 */
static void tails_are_those_of_r(void **state)
{
	(void)state;
	assert_near(student_tails(2.5, 3.7), 0.07182202291182675);
	assert_near(student_tails(1, 1), 0.5);
	assert_near(student_tails(-1, 1), 0.5);
	assert_near(student_tails(1.959963984540054, INFINITY), 0.05);
	assert_near(student_tails(0, 7), 1);
	assert_true(student_tails(INFINITY, 3) == 0);
}

static void quantiles_are_where_tails_are(void **state)
{
	static const double dfs[] = {0.5, 1, 3.7, 40, 1e4, INFINITY};

	(void)state;
	assert_near(student_quantile(0.001, 8), 5.041305433373457);
	for (size_t i = 0; i < sizeof(dfs) / sizeof(*dfs); i++)
		for (double tails = 0.9; tails > 1e-9; tails /= 7)
			assert_near(student_tails(student_quantile(tails, dfs[i]), dfs[i]), tails);
}

static void derivatives_of_gamma_are_those_of_r(void **state)
{
	(void)state;
	assert_near(student_digamma(2.3), 0.6000398803639699);
	assert_near(student_digamma(1), -0.57721566490153286);
	assert_near(student_trigamma(0.5), M_PI * M_PI / 2);
	assert_near(student_trigamma(1), M_PI * M_PI / 6);
	for (double x = 1e-6; x < 1e6; x *= 3)
		assert_near(student_trigamma_inverse(student_trigamma(x)), x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tails_are_those_of_r),
		cmocka_unit_test(quantiles_are_where_tails_are),
		cmocka_unit_test(derivatives_of_gamma_are_those_of_r),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
