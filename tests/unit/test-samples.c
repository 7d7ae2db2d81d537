/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* Test the table of samples: its order, the length of its ticks, and its columns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "render/samples.h"

static struct calltree *tree;
static struct preorder preorder;
static struct samples samples;

static int set_up(void **state)
{
	(void)state;
	tree = calltree_new();
	return !tree;
}

static int tear_down(void **state)
{
	(void)state;
	samples_release(&samples);
	preorder_release(&preorder);
	calltree_free(tree);
	return 0;
}

static void sort(void)
{
	assert_int_equal(calltree_finish(tree), 0);
	assert_int_equal(preorder_init(&preorder, tree), 0);
	assert_int_equal(samples_init(&samples, tree, &preorder), 0);
}

static void check(enum samples_column column, const uint32_t *wanted)
{
	uint32_t values[16];

	assert_true(samples.count <= 16);
	assert_int_equal(samples_fill(&samples, column, values), 0);
	assert_memory_equal(values, wanted, samples.count * sizeof(*values));
}
#define CHECK(column, ...) check(column, (const uint32_t[]){__VA_ARGS__})

static uint32_t add_child(const char *name)
{
	return calltree_child(tree, CALLTREE_ROOT, calltree_frame(tree, name, "", CALLTREE_NATIVE));
}

static void test_the_columns_are_by_time(void **state)
{
	/* In preorder b is node 2 and a is node 1, because siblings are sorted by name. */
	uint32_t b = add_child("b"), a = add_child("a");
	const struct calltree_sample added[] = {
		{.time_ns = 9000, .node = b, .weight = 1, .thread = 0, .kind = CALLTREE_WAITING},
		{.time_ns = 9999, .node = a, .weight = 2, .thread = 5, .kind = CALLTREE_ON_CPU},
		{.time_ns = 2000, .node = a, .weight = 3, .thread = 0, .kind = CALLTREE_CREDIT},
		{.time_ns = 2000, .node = b, .weight = 4, .thread = 5, .kind = CALLTREE_ON_CPU},
		{.time_ns = 0, .node = b, .weight = 5, .thread = 0, .kind = CALLTREE_ON_CPU},
	};

	(void)state;
	calltree_thread(tree, 1, "named", "");
	for (size_t i = 0; i < 5; i++)
		calltree_sample(tree, &added[i]);
	sort();
	assert_int_equal(samples.count, 5);
	assert_int_equal(samples.threads, 6);
	assert_int_equal(samples.tick_us, 1);
	CHECK(SAMPLES_TIMES, 0, 2, 0, 7, 0);
	CHECK(SAMPLES_NODES, 4, 1, 4, 2, 1);
	CHECK(SAMPLES_THREADS, 0, 0, 5, 0, 5);
	CHECK(SAMPLES_WEIGHTS, 5, 3, 4, 1, 2);
	CHECK(SAMPLES_KINDS, CALLTREE_ON_CPU, CALLTREE_CREDIT, CALLTREE_ON_CPU, CALLTREE_WAITING,
		CALLTREE_ON_CPU);
}

static void add_at(uint64_t time_us)
{
	calltree_sample(tree, &(struct calltree_sample){.time_ns = time_us * 1000});
}

static void test_a_microsecond_for_71_minutes(void **state)
{
	(void)state;
	add_at(UINT32_MAX);
	sort();
	assert_int_equal(samples.tick_us, 1);
	CHECK(SAMPLES_TIMES, UINT32_MAX);
}

static void test_longer_runs_have_longer_ticks(void **state)
{
	(void)state;
	add_at(7);
	add_at(UINT64_C(5) << 32);
	sort();
	assert_int_equal(samples.tick_us, 8);
	CHECK(SAMPLES_TIMES, 0, 0xa0000000);
}

/* When a table is read back and written again, times do not get coarser. */
static void test_many_samples_have_longer_ticks(void **state)
{
	static uint32_t values[SAMPLES_MANY + 1];
	uint64_t sum = 0;

	(void)state;
	for (uint32_t i = 0; i < SAMPLES_MANY; i++)
		add_at(i);
	add_at((SAMPLES_MANY_TICKS << 3) - 1);
	sort();
	assert_int_equal(samples.tick_us, 8);
	assert_int_equal(samples_fill(&samples, SAMPLES_TIMES, values), 0);
	for (uint32_t i = 0; i <= SAMPLES_MANY; i++)
		sum += values[i];
	assert_int_equal(sum, SAMPLES_MANY_TICKS - 1);
	assert_true(sum >= SAMPLES_MANY_TICKS / 2);
}

static void test_without_times_there_are_none(void **state)
{
	(void)state;
	add_at(0);
	add_at(0);
	sort();
	assert_int_equal(samples.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_columns_are_by_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_a_microsecond_for_71_minutes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_longer_runs_have_longer_ticks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_many_samples_have_longer_ticks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_without_times_there_are_none, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
