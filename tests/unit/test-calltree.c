/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * A call tree stores equal frames once, adds weights up, refuses invalid input, and is ordered by
 * name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>

#include "render/calltree.h"

static uint32_t child(struct calltree *tree, uint32_t parent, const char *name)
{
	return calltree_child(tree, parent, calltree_frame(tree, name, "", CALLTREE_NATIVE));
}

static void test_equal_frames_are_one(void **state)
{
	struct calltree *tree = calltree_new();
	char name[] = "main";
	uint32_t frame = calltree_frame(tree, name, "prog", CALLTREE_NATIVE);

	(void)state;
	name[0] = 'x'; /* borrowed for the call only */
	assert_string_equal(calltree_frame_at(tree, frame)->name, "main");
	assert_int_equal(calltree_frame(tree, "main", "prog", CALLTREE_NATIVE), frame);
	assert_int_not_equal(calltree_frame(tree, "main", "lib", CALLTREE_NATIVE), frame);
	assert_int_not_equal(calltree_frame(tree, "main", "prog", CALLTREE_INLINE), frame);
	assert_int_not_equal(calltree_frame(tree, "mai", "nprog", CALLTREE_NATIVE), frame);
	assert_int_equal(calltree_frames(tree), 4);
	/* Add enough frames for collisions in the hash table. */
	for (unsigned i = 0; i < 7000; i++) {
		char text[16];

		snprintf(text, sizeof(text), "f%u", i / 7);
		assert_int_equal(calltree_frame(tree, text, "", i % 7), 4 + i);
	}
	calltree_free(tree);
}

static void test_totals_are_sums(void **state)
{
	struct calltree *tree = calltree_new();
	uint32_t a = child(tree, CALLTREE_ROOT, "a"), b = child(tree, a, "b"),
		 c = child(tree, a, "c");

	(void)state;
	assert_int_equal(child(tree, a, "b"), b);
	calltree_add(tree, a, 1);
	calltree_add(tree, b, 20);
	calltree_add(tree, c, 300);
	calltree_add(tree, c, 4000);
	assert_int_equal(calltree_finish(tree), 0);
	assert_int_equal(calltree_node_at(tree, c)->total, 4300);
	assert_int_equal(calltree_node_at(tree, a)->total, 4321);
	assert_int_equal(calltree_node_at(tree, a)->self, 1);
	assert_int_equal(calltree_node_at(tree, CALLTREE_ROOT)->total, 4321);
	assert_int_equal(calltree_total(tree), 4321);
	calltree_free(tree);
}

static void test_a_million_nodes_stay_distinct(void **state)
{
	struct calltree *tree = calltree_new();
	uint32_t frames[1000], last = CALLTREE_ROOT;
	char name[16];

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		frames[i] = calltree_frame(tree, name, "", CALLTREE_NATIVE);
	}
	for (unsigned i = 0; i < 1000; i++) {
		uint32_t parent = calltree_child(tree, CALLTREE_ROOT, frames[i]);

		for (unsigned j = 0; j < 1000; j++) {
			last = calltree_child(tree, parent, frames[j]);
			calltree_add(tree, last, 1);
		}
	}
	assert_int_equal(calltree_finish(tree), 0);
	assert_int_equal(calltree_nodes(tree), 1001001);
	assert_int_equal(calltree_total(tree), 1000000);
	assert_int_equal(calltree_node_at(tree, 1)->total, 1000);
	calltree_free(tree);
}

static void test_misuse_poisons(void **state)
{
	struct calltree *tree = calltree_new();

	(void)state;
	calltree_add(tree, 7, 1);
	assert_int_equal(calltree_error(tree), -EINVAL);
	assert_int_equal(calltree_frame(tree, "a", "", CALLTREE_NATIVE), 0);
	assert_int_equal(calltree_frames(tree), 0);
	assert_int_equal(calltree_finish(tree), -EINVAL);
	calltree_free(tree);

	tree = calltree_new();
	calltree_add(tree, CALLTREE_ROOT, UINT64_C(1) << 52);
	assert_int_equal(calltree_error(tree), 0);
	calltree_add(tree, CALLTREE_ROOT, UINT64_C(1) << 52);
	assert_int_equal(calltree_error(tree), -EOVERFLOW);
	calltree_free(tree);

	tree = calltree_new();
	calltree_thread(tree, UINT32_MAX, "t", "");
	assert_int_equal(calltree_error(tree), -E2BIG);
	calltree_free(tree);
}

/*
 * Scaling changes the weights of nodes and lines, limited to the maximum. A finished tree can be
 * extended.
 */
static void test_weights_are_scaled(void **state)
{
	struct calltree *tree = calltree_new();
	uint32_t node = child(tree, CALLTREE_ROOT, "main");

	(void)state;
	calltree_add(tree, node, 3);
	calltree_add_line(
		tree, &(struct calltree_line){
			      .line = 7, .file = "a.c", .self = 2, .total = 3, .waits = 1});
	assert_int_equal(calltree_finish(tree), 0);
	calltree_scale(tree, 1000);
	calltree_add(tree, node, 5);
	calltree_add_line(tree, &(struct calltree_line){.line = 7, .file = "a.c", .total = 5});
	assert_int_equal(calltree_finish(tree), 0);
	assert_int_equal(calltree_total(tree), 3005);
	assert_int_equal(calltree_node_at(tree, node)->total, 3005);
	assert_int_equal(calltree_lines(tree), 1);
	assert_int_equal(calltree_line_at(tree, 0)->self, 2000);
	assert_int_equal(calltree_line_at(tree, 0)->total, 3005);
	assert_int_equal(calltree_line_at(tree, 0)->waits, 1000);
	calltree_scale(tree, UINT64_C(1) << 45);
	assert_int_equal(calltree_error(tree), -EOVERFLOW);
	calltree_free(tree);
}

static void test_threads_and_samples_are_kept(void **state)
{
	struct calltree *tree = calltree_new();
	uint32_t node = child(tree, CALLTREE_ROOT, "a");

	(void)state;
	calltree_thread(tree, 3, "worker", "prog (7)");
	for (uint32_t i = 0; i < 1000; i++)
		calltree_sample(
			tree, &(struct calltree_sample){.time_ns = i, .node = node, .thread = 3});
	assert_int_equal(calltree_error(tree), 0);
	assert_int_equal(calltree_threads(tree), 4);
	assert_null(calltree_thread_at(tree, 2));
	assert_null(calltree_thread_at(tree, 99));
	assert_string_equal(calltree_thread_at(tree, 3), "worker");
	assert_string_equal(calltree_process_at(tree, 3), "prog (7)");
	assert_null(calltree_process_at(tree, 2));
	assert_null(calltree_process_at(tree, 99));
	assert_int_equal(calltree_samples(tree), 1000);
	assert_int_equal(calltree_sample_at(tree, 999)->time_ns, 999);
	assert_int_equal(calltree_total(tree), 0);
	calltree_free(tree);
}

static void test_lines_tell_frames_apart(void **state)
{
	struct calltree *tree = calltree_new();
	char file[] = "src/a.c";
	uint32_t plain = calltree_frame(tree, "f", "prog", CALLTREE_NATIVE);
	uint32_t first = calltree_frame_line(tree, "f", "prog", CALLTREE_NATIVE, file, 7);

	(void)state;
	file[0] = 'x'; /* borrowed for the call only */
	assert_int_not_equal(first, plain);
	assert_string_equal(calltree_frame_at(tree, plain)->file, "");
	assert_int_equal(calltree_frame_at(tree, plain)->line, 0);
	assert_string_equal(calltree_frame_at(tree, first)->file, "src/a.c");
	assert_int_equal(calltree_frame_at(tree, first)->line, 7);
	assert_int_equal(
		calltree_frame_line(tree, "f", "prog", CALLTREE_NATIVE, "src/a.c", 7), first);
	assert_int_equal(calltree_frame_line(tree, "f", "prog", CALLTREE_NATIVE, "", 0), plain);
	assert_int_equal(calltree_frames(tree), 2);
	/* Add enough frames for collisions in the hash table. All frames differ. */
	for (uint32_t i = 0; i < 7000; i++)
		assert_int_equal(calltree_frame_line(tree, "f", "prog", CALLTREE_NATIVE,
					 i % 2 ? "src/a.c" : "", 100 + i),
			2 + i);
	/* Equal texts are stored once. */
	assert_ptr_equal(calltree_frame_at(tree, first)->name, calltree_frame_at(tree, 3)->name);
	assert_ptr_equal(calltree_frame_at(tree, first)->file, calltree_frame_at(tree, 3)->file);
	calltree_free(tree);
}

/* Print each entry of the table of lines as "frame file:line self/total ". */
static void spell_lines(const struct calltree *tree, char *text)
{
	*text = '\0';
	for (size_t i = 0; i < calltree_lines(tree); i++) {
		const struct calltree_line *line = calltree_line_at(tree, i);

		text += sprintf(text, "%s %s:%u %u/%u, ",
			calltree_frame_at(tree, line->frame)->name, line->file, line->line,
			(unsigned)line->self, (unsigned)line->total);
	}
}

static void test_lines_are_summed_and_sorted(void **state)
{
	struct calltree *tree = calltree_new();
	uint32_t f = calltree_frame(tree, "f", "", CALLTREE_NATIVE);
	uint32_t g = calltree_frame(tree, "g", "", CALLTREE_NATIVE);
	const struct calltree_line lines[] = {
		{g, 9, "b.c", 1, 1, 0},
		{f, 3, "b.c", 1, 2, 0},
		{f, 5, "a.c", 0, 8, 0},
		{f, 3, "b.c", 2, 3, 0},
		{f, 3, "a.c", 0, 5, 0},
		{f, 4, "a.c", 0, 5, 0},
	};
	char text[256];

	(void)state;
	assert_int_equal(calltree_lines(tree), 0);
	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		calltree_add_line(tree, &lines[i]);
	assert_int_equal(calltree_finish(tree), 0);
	spell_lines(tree, text);
	assert_string_equal(
		text, "f a.c:5 0/8, f b.c:3 3/5, f a.c:3 0/5, f a.c:4 0/5, g b.c:9 1/1, ");
	calltree_add_line(tree, &(struct calltree_line){.frame = 2, .file = ""});
	assert_int_equal(calltree_error(tree), -EINVAL);
	calltree_free(tree);
}

/* Print the frames' names in preorder: "a(b(c)d)" means that a has the children b and d. */
static void spell(const struct calltree *tree, char *text)
{
	struct preorder preorder;

	assert_int_equal(preorder_init(&preorder, tree), 0);
	for (uint32_t at = 1; at < preorder.nodes; at++) {
		uint32_t node = preorder.order[at];
		const char *name =
			calltree_frame_at(tree, calltree_node_at(tree, node)->frame)->name;

		assert_int_equal(preorder.position[node], at);
		text += sprintf(text, "%u%s%u,%u ", preorder.depth[at], name, preorder.end[at],
			preorder.height[at]);
	}
	preorder_release(&preorder);
}

static void test_order_is_by_name(void **state)
{
	struct calltree *one = calltree_new(), *two = calltree_new();
	char first[256], second[256];

	(void)state;
	uint32_t b = child(one, CALLTREE_ROOT, "b");

	child(one, b, "z");
	child(one, child(one, b, "a"), "q");
	child(one, CALLTREE_ROOT, "a");

	child(two, CALLTREE_ROOT, "a");
	b = child(two, CALLTREE_ROOT, "b");
	child(two, child(two, b, "a"), "q");
	child(two, b, "z");

	spell(one, first);
	spell(two, second);
	assert_string_equal(first, "1a2,0 1b6,2 2a5,1 3q5,0 2z6,0 ");
	assert_string_equal(second, first);
	/* Frames that differ only in their line number are ordered by line number. */
	child(two, calltree_child(two, CALLTREE_ROOT,
		calltree_frame_line(two, "a", "", CALLTREE_NATIVE, "x", 3)), "h");
	child(two, calltree_child(two, CALLTREE_ROOT,
		calltree_frame_line(two, "a", "", CALLTREE_NATIVE, "x", 12)), "i");
	child(two, calltree_child(two, CALLTREE_ROOT,
		calltree_frame_line(two, "a", "", CALLTREE_NATIVE, "b", 99)), "g");
	spell(two, second);
	assert_string_equal(second, "1a2,0 1a4,1 2g4,0 1a6,1 2h6,0 1a8,1 2i8,0 "
				    "1b12,2 2a11,1 3q11,0 2z12,0 ");
	calltree_free(one);
	calltree_free(two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_frames_are_one),
		cmocka_unit_test(test_totals_are_sums),
		cmocka_unit_test(test_a_million_nodes_stay_distinct),
		cmocka_unit_test(test_misuse_poisons),
		cmocka_unit_test(test_weights_are_scaled),
		cmocka_unit_test(test_threads_and_samples_are_kept),
		cmocka_unit_test(test_lines_tell_frames_apart),
		cmocka_unit_test(test_lines_are_summed_and_sorted),
		cmocka_unit_test(test_order_is_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
