/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* Select stacks by kind of time, and fold idle threads into one frame. Neither changes weights. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "render/layout.h"
#include "render/transform.h"

/*
 * Add @weight of @thread to the stack @stack, e.g. "a;b;c". "[futex]lock" is a wait frame of the
 * kind "lock"; a name that begins with '/' is a process.
 */
static void add(struct calltree *tree, uint32_t thread, const char *stack, uint64_t weight)
{
	char copy[128], *rest = copy;
	uint32_t node = CALLTREE_ROOT;
	const char *name;

	snprintf(copy, sizeof(copy), "%s", stack);
	while ((name = strsep(&rest, ";"))) {
		const char *end = strchr(name, ']');
		char leaf[64];
		enum calltree_frame_kind kind = end	       ? CALLTREE_WAIT
						: *name == '/' ? CALLTREE_PROCESS
							       : CALLTREE_NATIVE;

		snprintf(leaf, sizeof(leaf), "%.*s", end ? (int)(end + 1 - name) : 63, name);
		node = calltree_child(
			tree, node, calltree_frame(tree, leaf, end ? end + 1 : "", kind));
	}
	calltree_add(tree, node, weight);
	calltree_sample(tree, &(struct calltree_sample){
				      .node = node, .weight = (uint32_t)weight, .thread = thread});
	calltree_thread(tree, thread, "t", "");
}

/* Print all stacks with their weights, one per line, in preorder. */
static void spell(const struct calltree *tree, char *out, size_t size)
{
	struct preorder preorder;
	size_t at = 0;

	assert_int_equal(preorder_init(&preorder, tree), 0);
	out[0] = '\0';
	for (uint32_t i = 0; i < preorder.nodes; i++) {
		uint32_t node = preorder.order[i], path[16], depth = 0;

		if (!calltree_node_at(tree, node)->self)
			continue;
		for (uint32_t n = node; n != CALLTREE_ROOT; n = calltree_node_at(tree, n)->parent)
			path[depth++] = n;
		while (depth)
			at += (size_t)snprintf(out + at, size - at, "%s;",
				calltree_frame_at(
					tree, calltree_node_at(tree, path[--depth])->frame)
					->name);
		at += (size_t)snprintf(
			out + at, size - at, " %u\n", (unsigned)calltree_node_at(tree, node)->self);
	}
	preorder_release(&preorder);
}

static void expect_shape(
	struct calltree *tree, const struct transform_shape *shape, const char *wanted)
{
	struct calltree *made = NULL;
	char text[1024];

	assert_int_equal(calltree_finish(tree), 0);
	assert_int_equal(transform_shape(tree, shape, &made), 0);
	spell(made ? made : tree, text, sizeof(text));
	assert_string_equal(text, wanted);
	if (made) {
		assert_int_equal(calltree_total(made), calltree_total(tree));
		assert_int_equal(calltree_waits(made), calltree_waits(tree));
		for (size_t i = 0; i < calltree_samples(made); i++)
			assert_int_not_equal(
				calltree_node_at(made, calltree_sample_at(made, i)->node)->self, 0);
	}
	calltree_free(made);
	calltree_free(tree);
}

static const struct transform_shape folding = {.fold_idle = true};

static struct calltree *pool(void)
{
	struct calltree *tree = calltree_new();

	add(tree, 0, "main;work", 50);
	add(tree, 0, "main;work;[futex]lock", 50);
	add(tree, 1, "pool;take;[futex]lock", 97);
	add(tree, 1, "pool;work;[read]io", 3);
	add(tree, 2, "pool;take;[futex]lock", 100);
	add(tree, 2, "pool;start", 3);
	return tree;
}

static void threads_that_wait_in_one_place_are_folded(void **state)
{
	(void)state;
	expect_shape(pool(), &folding,
		"[idle: 2 threads];pool;take;[futex]; 197\n"
		"[idle: 2 threads];pool;work;[read]; 3\n"
		"main;work; 50\nmain;work;[futex]; 50\npool;start; 3\n");
	expect_shape(pool(), &(struct transform_shape){.fold_idle = true, .by_module = true},
		"[idle: 2 threads];[unknown module];[futex]; 197\n"
		"[idle: 2 threads];[unknown module];[read]; 3\n"
		"[unknown module]; 53\n[unknown module];[futex]; 50\n");
	expect_shape(pool(), &(struct transform_shape){.fold_idle = true, .reverse = true},
		"[futex];work;main; 50\n"
		"[idle: 2 threads];[futex];take;pool; 197\n"
		"[idle: 2 threads];[read];work;pool; 3\n"
		"start;pool; 3\nwork;main; 50\n");
}

/* Each case is just below or above the limit at which a thread counts as idle. */
static void who_does_anything_else_is_not(void **state)
{
	static const struct {
		const char *one, *other;
		uint64_t weight_one, weight_other;
		bool is_idle;
	} cases[] = {
		{"a;[futex]lock", "b;[read]io", 95, 5, true},
		{"a;[futex]lock", "b;[read]io", 94, 6, false},
		{"b;[read]io", "a;[futex]lock", 5, 95, true}, /* the order does not matter */
		{"a;[futex]lock", "b", 97, 3, true},
		{"a;[futex]lock", "b", 96, 4, false},
		{"a;[futex]lock", "b", 99000, 1000, true},
		{"a;[futex]lock", "b", 98990, 1010, false},
		{"a;[waiting]", "b;[read]io", 99, 1, false},
		{"a;[no CPU]cpu", "b;[read]io", 99, 1, false},
		{"a", "b;[read]io", 99, 1, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct calltree *tree = calltree_new(), *made = NULL;
		char text[512];

		add(tree, 0, "main", 10);
		add(tree, 1, cases[i].one, cases[i].weight_one);
		add(tree, 1, cases[i].other, cases[i].weight_other);
		assert_int_equal(calltree_finish(tree), 0);
		assert_int_equal(transform_shape(tree, &folding, &made), 0);
		spell(made, text, sizeof(text));
		if ((strstr(text, "[idle: 1 thread]") != NULL) != cases[i].is_idle)
			fail_msg("case %zu: %s", i, text);
		calltree_free(made);
		calltree_free(tree);
	}
}

static void where_all_are_idle_none_is_folded(void **state)
{
	struct calltree *tree = calltree_new();

	(void)state;
	add(tree, 0, "main;[nanosleep]sleep", 1000);
	add(tree, 0, "main", 1);
	add(tree, 1, "pool;[futex]lock", 1000);
	expect_shape(tree, &folding, "main; 1\nmain;[nanosleep]; 1000\npool;[futex]; 1000\n");
}

static void each_process_has_its_own(void **state)
{
	struct calltree *tree = calltree_new();

	(void)state;
	add(tree, 0, "/a;pool;[futex]lock", 10);
	add(tree, 1, "/b;pool;[futex]lock", 10);
	add(tree, 2, "/b;pool;[futex]lock", 10);
	add(tree, 3, "/b;main", 10);
	expect_shape(tree, &folding,
		"/a;[idle: 1 thread];pool;[futex]; 10\n"
		"/b;[idle: 2 threads];pool;[futex]; 20\n/b;main; 10\n");
}

/* A node that has weight of both an idle and a busy thread is split in two. */
static void one_stack_of_two_threads_parts(void **state)
{
	struct calltree *tree = calltree_new();

	(void)state;
	add(tree, 0, "pool;[futex]lock", 30);
	add(tree, 0, "pool;work", 30);
	add(tree, 1, "pool;[futex]lock", 60);
	expect_shape(tree, &folding,
		"[idle: 1 thread];pool;[futex]; 60\npool;[futex]; 30\npool;work; 30\n");
}

static void roots_of_threads_are_not_folded(void **state)
{
	struct calltree *tree = calltree_new();

	(void)state;
	add(tree, 0, "main", 10);
	add(tree, 1, "pool;[futex]lock", 10);
	expect_shape(tree, &(struct transform_shape){.fold_idle = true, .by_thread = true},
		"t;main; 10\nt;pool;[futex]; 10\n");
}

/* The layout shows no boxes above an idle frame. */
static void the_layout_ends_at_the_box(void **state)
{
	struct calltree *tree = pool(), *made = NULL;
	struct preorder preorder;
	struct layout layout;
	unsigned idle = 0;

	(void)state;
	assert_int_equal(calltree_finish(tree), 0);
	assert_int_equal(transform_shape(tree, &folding, &made), 0);
	assert_int_equal(preorder_init(&preorder, made), 0);
	assert_int_equal(layout_init(&layout, made, &preorder,
				 &(struct layout_limits){.width_px = 1000,
					 .narrowest_px = 0.5,
					 .rows = 20,
					 .calm_rows = 20,
					 .boxes = 100}),
		0);
	for (uint32_t i = 0; i < layout.count; i++) {
		uint32_t node = layout.boxes[i].node;

		for (; node != CALLTREE_ROOT; node = calltree_node_at(made, node)->parent)
			idle += !strncmp(
				calltree_frame_at(made, calltree_node_at(made, node)->frame)->name,
				"[idle", 5);
	}
	assert_int_equal(idle, 1);
	assert_int_equal(layout.count, 1 + 1 + 3 + 2);
	layout_release(&layout);
	preorder_release(&preorder);
	calltree_free(made);
	calltree_free(tree);
}

/* ---- kinds of time --------------------------------------------------------------------------- */

static void expect_times(const struct calltree *tree, enum calltree_times times, const char *wanted)
{
	struct calltree *made = NULL;
	char text[512];

	assert_int_equal(transform_times(tree, times, &made), 0);
	assert_non_null(made);
	spell(made, text, sizeof(text));
	assert_string_equal(text, wanted);
	calltree_free(made);
}

static void stacks_are_kept_by_what_they_do(void **state)
{
	struct calltree *tree = calltree_new(), *made = NULL;

	(void)state;
	add(tree, 0, "main;f", 7);
	add(tree, 0, "main;f;[futex]lock", 5);
	add(tree, 0, "main;g;[read]io", 3);
	assert_int_equal(calltree_finish(tree), 0);
	assert_int_equal(calltree_waits(tree), 8);
	expect_times(tree, CALLTREE_TIMES_CPU, "main;f; 7\n");
	expect_times(tree, CALLTREE_TIMES_WAITS, "main;f;[futex]; 5\nmain;g;[read]; 3\n");
	assert_int_equal(transform_times(tree, CALLTREE_TIMES_BOTH, &made), 0);
	assert_null(made);
	/* In a reversed tree the wait frame is the root of its stacks. */
	assert_int_equal(
		transform_shape(tree, &(struct transform_shape){.reverse = true}, &made), 0);
	assert_int_equal(calltree_waits(made), 8);
	expect_times(made, CALLTREE_TIMES_CPU, "f;main; 7\n");
	expect_times(made, CALLTREE_TIMES_WAITS, "[futex];f;main; 5\n[read];g;main; 3\n");
	calltree_free(made);
	calltree_free(tree);
}

static void stacks_of_one_kind_are_left_alone(void **state)
{
	struct calltree *tree = calltree_new(), *made = NULL;

	(void)state;
	add(tree, 0, "main", 7);
	assert_int_equal(calltree_finish(tree), 0);
	assert_int_equal(transform_times(tree, CALLTREE_TIMES_CPU, &made), 0);
	assert_null(made);
	expect_times(tree, CALLTREE_TIMES_WAITS, "");
	calltree_free(tree);
	tree = calltree_new();
	add(tree, 0, "main;[read]io", 7);
	assert_int_equal(calltree_finish(tree), 0);
	assert_int_equal(transform_times(tree, CALLTREE_TIMES_WAITS, &made), 0);
	assert_null(made);
	expect_times(tree, CALLTREE_TIMES_CPU, "");
	calltree_free(tree);
}

static int is_any(const struct calltree_frame *frame, void *name)
{
	return strstr(frame->name, name) != NULL;
}

/*
 * A filter cannot hide wait frames, because a hidden wait would count as CPU time. The weight that
 * filters leave out is counted in samples.
 */
static void filters_know_waits(void **state)
{
	char futex[] = "futex", g[] = "g";
	struct transform_matcher filters[TRANSFORM_FILTERS] = {
		[TRANSFORM_HIDE] = {is_any, futex}, [TRANSFORM_IGNORE] = {is_any, g}};
	struct calltree *tree = calltree_new(), *made = NULL;
	uint64_t left_out[TRANSFORM_FILTERS];
	char text[256];

	(void)state;
	add(tree, 0, "main;f;[futex]lock", 5);
	add(tree, 0, "main;g", 2);
	add(tree, 0, "main;g;[read]io", 3);
	assert_int_equal(calltree_finish(tree), 0);
	assert_int_equal(transform_filter(tree, filters, &made, left_out), 0);
	spell(made, text, sizeof(text));
	assert_string_equal(text, "main;f;[futex]; 5\n");
	assert_int_equal(left_out[TRANSFORM_HIDE], 0);
	assert_int_equal(left_out[TRANSFORM_IGNORE], 2);
	calltree_free(made);
	calltree_free(tree);
}

static void lines_know_waits(void **state)
{
	struct calltree *tree = calltree_new(), *coarse = NULL, *made = NULL;
	uint32_t f = calltree_child(tree, CALLTREE_ROOT,
		calltree_frame_line(tree, "f", "m", CALLTREE_NATIVE, "f.c", 3));
	uint32_t wait =
		calltree_child(tree, f, calltree_frame(tree, "[read]", "io", CALLTREE_WAIT));

	(void)state;
	calltree_add(tree, f, 4);
	calltree_add(tree, wait, 6);
	assert_int_equal(calltree_finish(tree), 0);
	assert_int_equal(transform_lines(tree, false, &coarse), 0);
	assert_int_equal(calltree_line_at(coarse, 0)->total, 10);
	assert_int_equal(calltree_line_at(coarse, 0)->waits, 6);
	assert_int_equal(transform_times(coarse, CALLTREE_TIMES_CPU, &made), 0);
	assert_int_equal(calltree_line_at(made, 0)->total, 4);
	assert_int_equal(calltree_line_at(made, 0)->self, 4);
	calltree_free(made);
	assert_int_equal(transform_times(coarse, CALLTREE_TIMES_WAITS, &made), 0);
	assert_int_equal(calltree_line_at(made, 0)->total, 6);
	assert_int_equal(calltree_line_at(made, 0)->self, 0);
	calltree_free(made);
	calltree_free(coarse);
	calltree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_that_wait_in_one_place_are_folded),
		cmocka_unit_test(who_does_anything_else_is_not),
		cmocka_unit_test(where_all_are_idle_none_is_folded),
		cmocka_unit_test(each_process_has_its_own),
		cmocka_unit_test(one_stack_of_two_threads_parts),
		cmocka_unit_test(roots_of_threads_are_not_folded),
		cmocka_unit_test(the_layout_ends_at_the_box),
		cmocka_unit_test(stacks_are_kept_by_what_they_do),
		cmocka_unit_test(stacks_of_one_kind_are_left_alone),
		cmocka_unit_test(filters_know_waits),
		cmocka_unit_test(lines_know_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
