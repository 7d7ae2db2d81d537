/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* Compute the variation between runs and compare it with sums computed by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "render/spread.h"

/* Make the tree of one run: outer calls inner, and late is at the root. */
static struct calltree *run_of(uint64_t outer, uint64_t inner, uint64_t late)
{
	struct calltree *tree = calltree_new();
	uint32_t below = calltree_child(
		tree, CALLTREE_ROOT, calltree_frame(tree, "outer", "app", CALLTREE_NATIVE));

	calltree_add(tree, below, outer);
	calltree_add(tree,
		calltree_child(tree, below, calltree_frame(tree, "inner", "app", CALLTREE_INLINE)),
		inner);
	if (late)
		calltree_add(tree,
			calltree_child(tree, CALLTREE_ROOT,
				calltree_frame(tree, "late", "app", CALLTREE_NATIVE)),
			late);
	assert_int_equal(calltree_finish(tree), 0);
	return tree;
}

static void add_run(struct spread *spread, uint64_t wall_ns, struct calltree *tree)
{
	const struct spread_run run = {.wall_ns = wall_ns, .cpu_ns = wall_ns / 2};

	assert_int_equal(spread_add(spread, &run, tree), 0);
	calltree_free(tree);
}

static bool find(const struct spread *spread, const char *name, const char *module,
	struct spread_shares *shares)
{
	const struct calltree_frame frame = {.name = name, .module = module, .file = ""};

	return spread_find(spread, &frame, shares);
}

static void assert_near(double is, double wanted)
{
	if (fabs(is - wanted) > 1e-9)
		fail_msg("%.12g, not %.12g", is, wanted);
}

static void shares_differ(void **state)
{
	struct spread *spread = spread_new();
	struct spread_shares shares;

	(void)state;
	add_run(spread, 1000000000, run_of(10, 90, 0));
	assert_false(find(spread, "outer", "app", &shares));
	add_run(spread, 2000000000, run_of(40, 160, 0));
	add_run(spread, 3000000000, run_of(10, 20, 70));
	/* Shares of outer: self 0.1, 0.2, 0.1; total 1, 1, 0.3. */
	assert_true(find(spread, "outer", "app", &shares));
	assert_near(shares.self, sqrt(0.01 / 3));
	assert_near(shares.total, 0.7 / sqrt(3));
	/* late is not in the first two runs. */
	assert_true(find(spread, "late", "app", &shares));
	assert_near(shares.self, 0.7 / sqrt(3));
	assert_true(find(spread, "inner", "app", &shares));
	assert_near(shares.self, sqrt(0.43 / 3));
	assert_false(find(spread, "inner", "other", &shares));
	assert_false(find(spread, "other", "app", &shares));
	assert_false(find(spread, "other", "app", &shares));
	spread_free(spread);
}

/* A run without samples counts for times but not for shares. */
static void a_run_without_samples_is_in_no_share(void **state)
{
	struct spread *spread = spread_new();
	struct spread_shares shares;

	(void)state;
	add_run(spread, 1, run_of(1, 9, 0));
	add_run(spread, 2, run_of(0, 0, 0));
	assert_false(find(spread, "outer", "app", &shares));
	add_run(spread, 3, run_of(3, 7, 0));
	assert_true(find(spread, "outer", "app", &shares));
	assert_near(shares.self, 0.2 / sqrt(2));
	assert_near(shares.total, 0);
	assert_int_equal(spread_runs(spread), 3);
	spread_free(spread);
}

static void what_is_put_is_found(void **state)
{
	const struct calltree_frame frame = {.name = "outer", .module = "app", .file = ""};
	const struct spread_shares given = {.self = 0, .total = 0.125};
	const struct spread_run run = {.wall_ns = 1};
	struct spread *spread = spread_new();
	struct spread_shares shares;

	(void)state;
	for (int i = 0; i < 5; i++)
		assert_int_equal(spread_add(spread, &run, NULL), 0);
	assert_int_equal(spread_put(spread, &frame, &given), 0);
	assert_true(find(spread, "outer", "app", &shares));
	assert_near(shares.self, 0);
	assert_near(shares.total, 0.125);
	assert_false(find(spread, "inner", "app", &shares));
	spread_free(spread);
}

/* Times are shown with as many decimals as are needed for two digits of the deviation. */
static void times_are_told(void **state)
{
	struct spread *spread = spread_new();
	char text[SPREAD_TEXT_BYTES];
	struct spread_times times;

	(void)state;
	add_run(spread, 1200000000, run_of(1, 0, 0));
	spread_text(spread, false, text);
	assert_string_equal(text, "1.200 s");
	add_run(spread, 1230000000, run_of(1, 0, 0));
	add_run(spread, 1260000000, run_of(1, 0, 0));
	times = spread_times(spread, true);
	assert_near(times.mean, 0.615);
	assert_near(times.deviation, 0.015);
	assert_near(times.least, 0.6);
	assert_near(times.most, 0.63);
	spread_text(spread, false, text);
	assert_string_equal(text, "1.230 s \u00b1 0.030 (1.200 to 1.260)");
	add_run(spread, 61230000000, run_of(1, 0, 0));
	spread_text(spread, false, text);
	assert_string_equal(text, "16.23 s \u00b1 30.00 (1.20 to 61.23)");
	spread_free(spread);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_differ),
		cmocka_unit_test(a_run_without_samples_is_in_no_share),
		cmocka_unit_test(what_is_put_is_found),
		cmocka_unit_test(times_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
