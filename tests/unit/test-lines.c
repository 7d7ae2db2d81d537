/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Merge frames of the same function at different lines, and compare the result with an oracle that
 * keeps each stack as a list.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "render/transform.h"
#include "tests/unit/folded-text.h"
#include "tests/unit/random.h"

#define STACKS 500u
#define DEPTH  8u
#define NAMES  4u
#define LINES  5u

/* Function and line of each frame of a stack. Line 0 means that the line is unknown. */
struct stack {
	uint32_t depth, weight, names[DEPTH], lines[DEPTH];
};

static const char *file_of(uint32_t line)
{
	return !line ? "" : line % 2 ? "src/a.c" : "/b/c.h";
}

static void make_stacks(struct stack *stacks)
{
	for (uint32_t i = 0; i < STACKS; i++) {
		stacks[i] = (struct stack){
			.depth = 1 + random_below(DEPTH), .weight = 1 + random_below(9)};
		for (uint32_t d = 0; d < stacks[i].depth; d++) {
			stacks[i].names[d] = random_below(NAMES);
			stacks[i].lines[d] = random_below(LINES);
		}
	}
}

static struct calltree *build(const struct stack *stacks)
{
	static const struct calltree_mapping mapping = {"/bin/prog", "", 0x1000, 0x1000, 0x2000};
	struct calltree *tree = calltree_new();

	for (uint32_t i = 0; i < STACKS; i++) {
		uint32_t node = CALLTREE_ROOT;

		for (uint32_t d = 0; d < stacks[i].depth; d++) {
			char name[2] = {(char)('a' + stacks[i].names[d]), '\0'};
			uint32_t line = stacks[i].lines[d];

			/* A line has several addresses. */
			node = calltree_child(tree, node,
				calltree_intern(
					tree, &(struct calltree_frame){.name = name,
						      .module = "prog",
						      .kind = CALLTREE_NATIVE,
						      .file = file_of(line),
						      .line = line,
						      .mapping = &mapping,
						      .offset = 0x1000 + 16 * line + (i + d) % 3}));
		}
		calltree_add(tree, node, stacks[i].weight);
		calltree_sample(tree, &(struct calltree_sample){.node = node,
					      .time_ns = i + 1,
					      .weight = stacks[i].weight});
	}
	assert_int_equal(calltree_finish(tree), 0);
	return tree;
}

/* Print the stack of a node as "a;b;c". */
static void spell(const struct calltree *tree, uint32_t node, char *text)
{
	const char *names[DEPTH];
	unsigned count = 0;

	for (; node != CALLTREE_ROOT; node = calltree_node_at(tree, node)->parent)
		names[count++] = calltree_frame_at(tree, calltree_node_at(tree, node)->frame)->name;
	*text = '\0';
	while (count)
		text += sprintf(text, "%s;", names[--count]);
}

/* Compute the self and total weight of a function's line from the list of stacks. */
static void weigh(const struct stack *stacks, uint32_t name, uint32_t line, uint64_t *self,
	uint64_t *total)
{
	*self = *total = 0;
	for (uint32_t i = 0; i < STACKS; i++) {
		const struct stack *stack = &stacks[i];
		int is_in = 0;

		for (uint32_t d = 0; d < stack->depth; d++) {
			if (stack->names[d] != name || stack->lines[d] != line)
				continue;
			is_in = 1;
			if (d + 1 == stack->depth)
				*self += stack->weight;
		}
		*total += is_in ? stack->weight : 0;
	}
}

static void check_table(const struct calltree *tree, const struct stack *stacks)
{
	const struct calltree_line *before = NULL;
	uint64_t self, total, all = 0;

	for (size_t i = 0; i < calltree_lines(tree); i++) {
		const struct calltree_line *line = calltree_line_at(tree, i);

		weigh(stacks, (uint32_t)calltree_frame_at(tree, line->frame)->name[0] - 'a',
			line->line, &self, &total);
		assert_int_equal(line->self, self);
		assert_int_equal(line->total, total);
		assert_string_equal(line->file, file_of(line->line));
		if (before && before->frame == line->frame)
			assert_true(before->total >= line->total);
		before = line;
		all += self;
	}
	/* The table must have every known line, and no entry for unknown lines. */
	assert_int_equal(calltree_lines(tree), NAMES * (LINES - 1));
	for (uint32_t name = 0; name < NAMES; name++) {
		weigh(stacks, name, 0, &self, &total);
		all += self;
	}
	assert_int_equal(all, calltree_total(tree));
}

static void check_samples(const struct calltree *tree, const struct stack *stacks, int by_line)
{
	char text[512], wanted[512], *at;

	assert_int_equal(calltree_samples(tree), STACKS);
	for (uint32_t i = 0; i < STACKS; i++) {
		spell(tree, calltree_sample_at(tree, i)->node, text);
		at = wanted;
		for (uint32_t d = 0; d < stacks[i].depth; d++) {
			uint32_t line = stacks[i].lines[d];

			at += sprintf(at, "%c", 'a' + (int)stacks[i].names[d]);
			if (by_line && line)
				at += sprintf(at, " %s:%u", line % 2 ? "a.c" : "c.h", line);
			at += sprintf(at, ";");
		}
		assert_string_equal(text, wanted);
	}
}

static void test_random_trees(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 10; round++) {
		struct stack stacks[STACKS];
		struct calltree *fine, *made = NULL;

		make_stacks(stacks);
		fine = build(stacks);
		assert_int_equal(transform_lines(fine, false, &made), 0);
		assert_int_equal(calltree_frames(made), NAMES);
		assert_int_equal(calltree_total(made), calltree_total(fine));
		check_samples(made, stacks, 0);
		check_table(made, stacks);
		calltree_free(made);
		made = NULL;
		assert_int_equal(transform_lines(fine, true, &made), 0);
		assert_int_equal(calltree_frames(made), NAMES * LINES);
		check_samples(made, stacks, 1);
		check_table(made, stacks);
		calltree_free(made);
		calltree_free(fine);
	}
}

/* Without lines, no new tree is made. */
static void test_nothing_to_merge(void **state)
{
	struct calltree *tree = calltree_new(), *made = NULL;

	(void)state;
	calltree_add(tree, calltree_child(tree, CALLTREE_ROOT,
		calltree_frame(tree, "a", "", CALLTREE_NATIVE)), 1);
	assert_int_equal(calltree_finish(tree), 0);
	assert_int_equal(transform_lines(tree, false, &made), 0);
	assert_null(made);
	assert_int_equal(
		transform_sources(tree, &(struct transform_sources){.map = NULL}, &made), 0);
	assert_null(made);
	calltree_free(tree);
}

static uint32_t add(struct calltree *tree, uint32_t parent, const char *name,
	enum calltree_frame_kind kind, const char *file, uint32_t line, uint64_t weight)
{
	uint32_t node = calltree_child(
		tree, parent, calltree_frame_line(tree, name, "prog", kind, file, line));

	calltree_add(tree, node, weight);
	return node;
}

/* Make a tree in which main calls f at two lines. At one of them f is inlined. */
static struct calltree *grow(void)
{
	struct calltree *tree = calltree_new();
	uint32_t here = add(tree, CALLTREE_ROOT, "main", CALLTREE_NATIVE, "/src/a.c", 1, 100);
	uint32_t there = add(tree, CALLTREE_ROOT, "main", CALLTREE_NATIVE, "/src/a.c", 2, 0);

	add(tree, here, "f", CALLTREE_NATIVE, "/src/f.c", 7, 20);
	there = add(tree, there, "f", CALLTREE_INLINE, "/src/f.c", 7, 3);
	there = add(tree, there, "g", CALLTREE_INLINE, "/src/f.c", 9, 4);
	add(tree, there, "f", CALLTREE_NATIVE, "/src/f.c", 7, 5);
	add(tree, CALLTREE_ROOT, "lost", CALLTREE_INLINE, "", 0, 6);
	assert_int_equal(calltree_finish(tree), 0);
	return tree;
}

static void check_lines(const struct calltree *tree, const char *wanted)
{
	char text[512], *at = text;

	*text = '\0';
	for (size_t i = 0; i < calltree_lines(tree); i++) {
		const struct calltree_line *line = calltree_line_at(tree, i);
		const struct calltree_frame *frame = calltree_frame_at(tree, line->frame);

		at += sprintf(at, "%s%s %s:%u %u/%u\n",
			frame->kind == CALLTREE_INLINE ? ">" : "", frame->name, line->file,
			line->line, (unsigned)line->self, (unsigned)line->total);
	}
	assert_string_equal(text, wanted);
}

static void test_inlined_functions_stay_apart(void **state)
{
	struct calltree *tree = grow(), *made = NULL;

	(void)state;
	assert_int_equal(transform_lines(tree, false, &made), 0);
	/* f keeps two frames below main, because one of its calls is inlined. */
	check_tree(made, "lost 6\nmain 100\nmain;f 20\nmain;f 3\nmain;f;g 4\nmain;f;g;f 5\n");
	check_lines(made, "main /src/a.c:1 100/120\nmain /src/a.c:2 0/12\nf /src/f.c:7 25/25\n"
			  ">f /src/f.c:7 3/12\n>g /src/f.c:9 4/9\n");
	calltree_free(made);
	calltree_free(tree);
}

static const char *to_home(const char *file, void *context)
{
	static char text[64];

	snprintf(text, sizeof(text), "%s%s", (const char *)context, file + strlen("/src"));
	return text;
}

static void test_without_inlined_functions(void **state)
{
	const struct transform_sources sources = {
		.no_inline = true, .map = to_home, .context = (void *)(uintptr_t) "/home"};
	struct calltree *tree = grow(), *fine = NULL, *made = NULL;

	(void)state;
	assert_int_equal(transform_sources(tree, &sources, &fine), 0);
	assert_int_equal(transform_lines(fine, false, &made), 0);
	/* An inlined frame without a caller stays, so that no weight is lost. */
	check_tree(made, "lost 6\nmain 107\nmain;f 25\n");
	check_lines(made, "main /home/a.c:1 100/120\nmain /home/a.c:2 7/12\nf /home/f.c:7 25/25\n");
	calltree_free(made);
	calltree_free(fine);
	calltree_free(tree);
}

static int is_main(const struct calltree_frame *frame, void *context)
{
	(void)context;
	return !strcmp(frame->name, "main");
}

/*
 * Filters run before lines are merged, so they change the table of lines. Later passes keep the
 * table.
 */
static void test_other_passes(void **state)
{
	const struct transform_matcher filters[TRANSFORM_FILTERS] = {
		[TRANSFORM_HIDE] = {is_main, NULL}};
	struct calltree *tree = grow(), *fine = NULL, *coarse = NULL, *made = NULL;
	uint64_t left_out[TRANSFORM_FILTERS];

	(void)state;
	assert_int_equal(transform_filter(tree, filters, &fine, left_out), 0);
	assert_int_equal(transform_lines(fine, false, &coarse), 0);
	check_lines(coarse, "f /src/f.c:7 25/25\n>f /src/f.c:7 3/12\n>g /src/f.c:9 4/9\n");
	assert_int_equal(
		transform_shape(coarse, &(struct transform_shape){.reverse = true}, &made), 0);
	check_tree(made, "f 20\nf;g;f 5\nf 3\ng;f 4\nlost 6\n");
	check_lines(made, "f /src/f.c:7 25/25\n>f /src/f.c:7 3/12\n>g /src/f.c:9 4/9\n");
	calltree_free(made);
	made = NULL;
	/* Modules have no lines. */
	assert_int_equal(
		transform_shape(coarse, &(struct transform_shape){.by_module = true}, &made), 0);
	check_tree(made, "prog 38\n");
	check_lines(made, "");
	calltree_free(made);
	calltree_free(coarse);
	/*
	 * The lines of removed frames are removed. The other lines refer to their frames' new
	 * numbers.
	 */
	made = NULL;
	assert_int_equal(transform_lines(tree, false, &coarse), 0);
	assert_int_equal(transform_filter(coarse, filters, &made, left_out), 0);
	check_lines(made, "f /src/f.c:7 25/25\n>f /src/f.c:7 3/12\n>g /src/f.c:9 4/9\n");
	calltree_free(made);
	calltree_free(coarse);
	calltree_free(fine);
	calltree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_trees),
		cmocka_unit_test(test_nothing_to_merge),
		cmocka_unit_test(test_inlined_functions_stay_apart),
		cmocka_unit_test(test_without_inlined_functions),
		cmocka_unit_test(test_other_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
