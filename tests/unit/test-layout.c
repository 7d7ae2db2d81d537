/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Test the positions of boxes, how narrow boxes are merged and deep stacks are cut, and the limit
 * on the number of boxes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "render/layout.h"

static uint32_t child(struct calltree *tree, uint32_t parent, const char *name, uint64_t weight)
{
	uint32_t node =
		calltree_child(tree, parent, calltree_frame(tree, name, "", CALLTREE_NATIVE));

	calltree_add(tree, node, weight);
	return node;
}

static struct layout lay_out(struct calltree *tree, const struct layout_limits *limits)
{
	struct preorder preorder;
	struct layout layout;

	assert_int_equal(calltree_finish(tree), 0);
	assert_int_equal(preorder_init(&preorder, tree), 0);
	assert_int_equal(layout_init(&layout, tree, &preorder, limits), 0);
	preorder_release(&preorder);
	return layout;
}

static const struct layout_limits wide = {
	.width_px = 1000, .narrowest_px = 0.5, .rows = 100, .boxes = 10000};

static const struct layout_box *find(const struct layout *layout, uint32_t node)
{
	for (uint32_t i = 0; i < layout->count; i++)
		if (layout->boxes[i].kind == LAYOUT_NODE && layout->boxes[i].node == node)
			return &layout->boxes[i];
	return NULL;
}

static void test_children_lie_on_their_parent(void **state)
{
	struct calltree *tree = calltree_new();
	uint32_t b = child(tree, CALLTREE_ROOT, "b", 10), c = child(tree, b, "c", 20);
	uint32_t a = child(tree, CALLTREE_ROOT, "a", 70);
	struct layout layout = lay_out(tree, &wide);

	(void)state;
	assert_int_equal(layout.count, 4);
	assert_int_equal(layout.rows, 3);
	assert_true(find(&layout, a)->left_px == 0 && find(&layout, a)->width_px == 700);
	assert_true(find(&layout, b)->left_px == 700 && find(&layout, b)->width_px == 300);
	assert_true(find(&layout, c)->left_px == 700 && find(&layout, c)->width_px == 200);
	assert_int_equal(find(&layout, c)->row, 2);
	layout_release(&layout);
	calltree_free(tree);
}

static void test_narrow_neighbours_merge(void **state)
{
	struct calltree *tree = calltree_new();
	char name[16];

	(void)state;
	/*
	 * 100 boxes of 0.1 px, a wide box, and 3 boxes of 0.1 px: of the narrow ones only the first
	 * 100 are drawn, merged.
	 */
	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "a%03u", i);
		child(tree, child(tree, CALLTREE_ROOT, name, 1), "above", 0);
	}
	uint32_t wide_one = child(tree, CALLTREE_ROOT, "b", 9897);

	for (unsigned i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "c%03u", i);
		child(tree, CALLTREE_ROOT, name, 1);
	}
	struct layout layout = lay_out(tree, &wide);

	assert_int_equal(layout.count, 3);
	assert_int_equal(layout.boxes[1].kind, LAYOUT_SLIVER);
	assert_int_equal(layout.boxes[1].count, 100);
	assert_true(layout.boxes[1].left_px == 0);
	assert_true(layout.boxes[1].width_px > 9.999 && layout.boxes[1].width_px < 10.001);
	assert_non_null(find(&layout, wide_one));
	layout_release(&layout);
	calltree_free(tree);
}

static void test_runs_reach_across_parents(void **state)
{
	struct calltree *tree = calltree_new();
	char name[16];

	(void)state;
	/*
	 * Two neighbouring parents, each full of narrow children: all these children are merged as
	 * one sequence.
	 */
	for (unsigned p = 0; p < 2; p++) {
		uint32_t parent = child(tree, CALLTREE_ROOT, p ? "q" : "p", 0);

		for (unsigned i = 0; i < 5000; i++) {
			snprintf(name, sizeof(name), "%05u", i);
			child(tree, parent, name, 1);
		}
	}
	struct layout layout = lay_out(tree, &wide);

	assert_int_equal(layout.count, 4);
	assert_int_equal(layout.boxes[3].kind, LAYOUT_SLIVER);
	assert_int_equal(layout.boxes[3].count, 10000);
	assert_true(layout.boxes[3].width_px > 999.9);
	layout_release(&layout);
	calltree_free(tree);
}

static void test_runs_end_at_gaps(void **state)
{
	struct calltree *tree = calltree_new();
	char name[16];

	(void)state;
	/*
	 * Two parents full of narrow children. The self weight of the first parent separates its
	 * children from the second's.
	 */
	for (unsigned p = 0; p < 2; p++) {
		uint32_t parent = child(tree, CALLTREE_ROOT, p ? "q" : "p", p ? 0 : 5000);

		for (unsigned i = 0; i < 2500; i++) {
			snprintf(name, sizeof(name), "%05u", i);
			child(tree, parent, name, 1);
		}
	}
	struct layout layout = lay_out(tree, &wide);

	assert_int_equal(layout.count, 5);
	for (unsigned i = 3; i < 5; i++) {
		assert_int_equal(layout.boxes[i].kind, LAYOUT_SLIVER);
		assert_int_equal(layout.boxes[i].count, 2500);
		assert_true(layout.boxes[i].width_px > 249.9 && layout.boxes[i].width_px < 250.1);
	}
	layout_release(&layout);
	calltree_free(tree);
}

static void test_depth_is_cut_and_said(void **state)
{
	struct calltree *tree = calltree_new();
	uint32_t node = CALLTREE_ROOT;

	(void)state;
	for (unsigned i = 0; i < 5000; i++)
		node = child(tree, node, i % 2 ? "odd" : "even", 0);
	calltree_add(tree, node, 1);
	struct layout layout = lay_out(tree, &wide);
	const struct layout_box *last = &layout.boxes[layout.count - 1];

	assert_int_equal(layout.rows, 100);
	assert_int_equal(layout.count, 100);
	assert_int_equal(last->kind, LAYOUT_DEEPER);
	assert_int_equal(last->count, 5001 - 99);
	layout_release(&layout);
	calltree_free(tree);
}

/* Make a stack of 20 wide levels and, above them, 80 levels of weight @needle out of 10,000. */
static struct layout lay_out_needle(struct calltree *tree, uint64_t needle, uint32_t calm_rows)
{
	struct layout_limits limits = wide;
	uint32_t node = CALLTREE_ROOT;
	char name[16];

	limits.calm_rows = calm_rows;
	limits.needle_px = 32;
	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "%u", i);
		node = child(tree, node, name, i == 19 ? 10000 - needle : i == 99 ? needle : 0);
	}
	return lay_out(tree, &limits);
}

static void test_needles_are_cut(void **state)
{
	static const struct {
		uint64_t needle;
		uint32_t calm_rows, rows, folded;
	} cases[] = {
		{300, 10, 22, 101 - 21}, /* 30 px: the needle's first box is cut */
		{300, 50, 51, 101 - 50}, /* calm rows are never cut */
		{300, 94, 100, 2},	 /* too few rows to cut: the usual limit */
		{330, 10, 100, 2},	 /* 33 px are wide enough */
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct calltree *tree = calltree_new();
		struct layout layout = lay_out_needle(tree, cases[i].needle, cases[i].calm_rows);
		const struct layout_box *last = &layout.boxes[layout.count - 1];

		assert_int_equal(layout.rows, cases[i].rows);
		assert_int_equal(layout.folded, cases[i].folded);
		assert_int_equal(last->kind, LAYOUT_DEEPER);
		assert_int_equal(last->count, cases[i].folded);
		assert_int_equal(last->row, cases[i].rows - 1);
		layout_release(&layout);
		calltree_free(tree);
	}
}

static void test_boxes_have_a_ceiling(void **state)
{
	struct calltree *tree = calltree_new();
	struct layout_limits few = wide;
	char name[16];

	(void)state;
	few.boxes = 50;
	for (unsigned i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "%03u", i);
		child(tree, CALLTREE_ROOT, name, i == 250 ? 500 : 1);
	}
	struct layout layout = lay_out(tree, &few);

	assert_in_range(layout.count, 3, 50);
	layout_release(&layout);
	calltree_free(tree);
}

static void test_nothing_has_no_box(void **state)
{
	struct calltree *tree = calltree_new();

	(void)state;
	child(tree, CALLTREE_ROOT, "a", 0);
	struct layout layout = lay_out(tree, &wide);

	assert_int_equal(layout.count, 0);
	assert_int_equal(layout.rows, 0);
	layout_release(&layout);
	calltree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_children_lie_on_their_parent),
		cmocka_unit_test(test_narrow_neighbours_merge),
		cmocka_unit_test(test_runs_reach_across_parents),
		cmocka_unit_test(test_runs_end_at_gaps),
		cmocka_unit_test(test_depth_is_cut_and_said),
		cmocka_unit_test(test_needles_are_cut),
		cmocka_unit_test(test_boxes_have_a_ceiling),
		cmocka_unit_test(test_nothing_has_no_box),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
