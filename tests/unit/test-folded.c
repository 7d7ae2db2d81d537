/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Read and write folded stacks: valid, invalid and hostile lines; lines across the ends of buffers;
 * an endless line; files that cannot be folded stacks, and files that could be.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/formats/folded.h"
#include "tests/unit/folded-text.h"

static struct folded_bad bad;

static int read_file(struct calltree *tree, FILE *in, const char *name, struct folded_bad *out,
	struct diag_message *message)
{
	struct lines lines = {.in = in};
	int error = folded_read(tree, NULL, &lines, name, out, message);

	lines_release(&lines);
	return error;
}

static struct calltree *read_bytes(const char *text, size_t length)
{
	struct calltree *tree = calltree_new();
	FILE *in = fmemopen((void *)(uintptr_t)text, length, "r");

	assert_non_null(in);
	assert_int_equal(read_file(tree, in, "in", &bad, NULL), 0);
	assert_int_equal(calltree_finish(tree), 0);
	fclose(in);
	return tree;
}

/* Read @text, write the tree again, and compare the output with @wanted. */
static void check(const char *text, size_t length, const char *wanted)
{
	struct calltree *tree = read_bytes(text, length);

	check_tree(tree, wanted);
	calltree_free(tree);
}
#define CHECK(text, wanted) check(text, sizeof(text) - 1, wanted)

static void test_lines_merge_and_sort(void **state)
{
	(void)state;
	CHECK("a;b 2\na 1\na;b 3\nA 7\n", "A 7\na 1\na;b 5\n");
	assert_int_equal(bad.count, 0);
	CHECK("last line without its end 4", "last line without its end 4\n");
}

static void test_weights(void **state)
{
	(void)state;
	/* 5.4 in all */
	CHECK("a 1.4\nb 1.5\nc .5\nd 2.\n", "a 1\nb 1\nc 1\nd 2\n");
	assert_int_equal(bad.count, 0);
	CHECK("a .3\na .3\na .3\na .1\nb 7\n", "a 1\nb 7\n");
	CHECK("a .0000000019999\nb 1.999999999\n", "b 2\n");
	CHECK("a 4503599627370496\n", "a 4503599627370496\n");
	CHECK("a 0\nb 1\n", "b 1\n");
	assert_int_equal(bad.count, 0);
}

/* So many good lines that a bad one does not matter. */
#define FIVE   "a 1\na 1\na 1\na 1\na 1\n"
#define TWENTY FIVE FIVE FIVE FIVE

static void test_bad_lines_are_counted(void **state)
{
	static const char *const not_stacks[] = {
		"no weight", "12", " 5", "; 5", "a -1", "a 1e3", "a .", "a 1x"};
	char text[200];

	(void)state;
	for (size_t i = 0; i < sizeof(not_stacks) / sizeof(not_stacks[0]); i++) {
		snprintf(text, sizeof(text), "a 1\n\n%s\n" TWENTY, not_stacks[i]);
		check(text, strlen(text), "a 21\n");
		assert_int_equal(bad.count, 1);
		assert_int_equal(bad.first, 3);
	}
}

static int refused(const char *text, const char *wanted)
{
	struct calltree *tree = calltree_new();
	FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	struct diag_message message = {0};
	int error = read_file(tree, in, "in", &bad, &message);

	fclose(in);
	calltree_free(tree);
	if (error)
		assert_non_null(strstr(message.text, wanted));
	return error;
}

static void test_counts_that_no_picture_holds_are_refused(void **state)
{
	(void)state;
	assert_int_equal(refused("a 1\nb 4503599627370497\n", "in:2: a count above"), -ERANGE);
	assert_int_equal(refused("b 18446744073709551616\n", "in:1: a count above"), -ERANGE);
	assert_int_equal(refused("b 18446744073709551616.5e\n", "in:1: not"), -ENODATA);
}

static void test_two_counts_are_a_comparison(void **state)
{
	(void)state;
	assert_int_equal(refused("a;b 5 7\na;c 0 1\n", "two counts in every line"), -ENODATA);
	assert_int_equal(refused("a;b 5.5 7\n", "two counts in every line"), -ENODATA);
	/* A name may end in a number. */
	CHECK("a;worker 5 7\na;b 1\n", "a;b 1\na;worker 5 7\n");
	CHECK("5 7\n", "5 7\n");
}

/* Read lines that have two counts and compare both trees. Returns the result of folded_read(). */
static int read_versions(const char *text, const char *wanted_old, const char *wanted_new)
{
	struct calltree *trees[] = {calltree_new(), calltree_new()};
	FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	struct lines lines = {.in = in};
	struct diag_message message = {0};
	int error = folded_read(trees[0], trees[1], &lines, "in", &bad, &message);

	lines_release(&lines);
	fclose(in);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(calltree_finish(trees[i]), 0);
		if (!error)
			check_tree(trees[i], i ? wanted_new : wanted_old);
		calltree_free(trees[i]);
	}
	return error;
}

#define FIVE_OF_TWO "d 1 2\nd 1 2\nd 1 2\nd 1 2\nd 1 2\n"

static void test_two_counts_are_two_trees(void **state)
{
	(void)state;
	assert_int_equal(read_versions("a;b 5 7\na;c 0 1\na 2 0\na;b 1 1\n", "a 2\na;b 6\n",
				 "a;b 8\na;c 1\n"),
		0);
	assert_int_equal(bad.count, 0);
	/*
	 * The remainder of a fractional count is carried over separately for each of the two
	 * counts.
	 */
	assert_int_equal(
		read_versions("a 1.6 .5\nb 1.6\t.6\nc 1.8 0\n", "a 1\nb 2\nc 2\n", "b 1\n"), 0);
	/* A name may end in a number. A damaged line is counted and skipped. */
	assert_int_equal(read_versions("a;worker 3 5 7\n b 1 2\nc 7\n" FIVE_OF_TWO FIVE_OF_TWO
					       FIVE_OF_TWO FIVE_OF_TWO,
				 " b 1\na;worker 3 5\nd 20\n", " b 2\na;worker 3 7\nd 40\n"),
		0);
	assert_int_equal(bad.count, 1);
	assert_int_equal(bad.first, 3);
	assert_int_equal(read_versions("", "", ""), 0);
	assert_int_equal(read_versions("a;b 5\n", NULL, NULL), -ENODATA);
	assert_int_equal(read_versions("5 7\n", NULL, NULL), -ENODATA);
	assert_int_equal(read_versions("a;b 5 x\n", NULL, NULL), -ENODATA);
	assert_int_equal(read_versions("a 1 4503599627370497\n", NULL, NULL), -ERANGE);
	assert_int_equal(read_versions("a 4503599627370497 1\n", NULL, NULL), -ERANGE);
	/* If only a single line has two numbers, the file does not have two counts per line. */
	assert_int_equal(read_versions("main;f 1\nthread 7 100\nmain;g 1\n", NULL, NULL), -ENODATA);
}

static void test_a_byte_order_mark_is_no_name(void **state)
{
	(void)state;
	CHECK("\xef\xbb\xbf"
	      "a;b 1\n\xef\xbb\xbf"
	      "a 2\n",
		"a;b 1\n\xef\xbb\xbf"
		"a 2\n");
}

static void test_sums_do_not_wrap(void **state)
{
	struct calltree *tree = calltree_new();
	char text[] = "a 4503599627370496\nb 4503599627370496\nc 4503599627370496\n";
	FILE *in = fmemopen(text, strlen(text), "r");

	(void)state;
	assert_true(read_file(tree, in, "in", &bad, NULL) < 0);
	fclose(in);
	calltree_free(tree);
}

static void test_hostile_bytes(void **state)
{
	(void)state;
	CHECK("a;b 1\r\n", "a;b 1\n");
	CHECK(";a;;b; 1\n", "a;b 1\n");
	CHECK("a\x01"
	      "b;c\td 1\n",
		"a b;c d 1\n");
	CHECK("\xff\xfe;]]>;</script> 1\n", "\xff\xfe;]]>;</script> 1\n");
	CHECK("void f(int, int);g h 3\n", "void f(int, int);g h 3\n");
}

static void test_names_with_separators_are_written_safely(void **state)
{
	struct calltree *tree = calltree_new();
	uint32_t node = calltree_child(
		tree, CALLTREE_ROOT, calltree_frame(tree, "a;b\nc\x7f;", "", CALLTREE_NATIVE));

	(void)state;
	calltree_add(tree, node, 1);
	calltree_add(
		tree, calltree_child(tree, node, calltree_frame(tree, "", "", CALLTREE_JIT)), 2);
	assert_int_equal(calltree_finish(tree), 0);
	check_tree(tree, "a:b c : 1\na:b c :;[empty] 2\n");
	calltree_free(tree);
}

static void test_long_lines_and_depth(void **state)
{
	const unsigned depth = 5000, long_name = 10000;
	char *text = malloc(2 * depth + long_name + 16), *at = text;

	(void)state;
	for (unsigned i = 0; i < depth; i++, at += 2)
		memcpy(at, i % 2 ? "a;" : "b;", 2);
	memset(at, 'x', long_name);
	strcpy(at + long_name, " 1\n");
	struct calltree *tree = read_bytes(text, strlen(text));

	assert_int_equal(bad.count, 0);
	assert_int_equal(calltree_nodes(tree), depth + 2);
	assert_int_equal(calltree_frames(tree), 3);
	calltree_free(tree);
	free(text);
}

static void test_kinds_come_back_from_brackets(void **state)
{
	struct calltree *tree = read_bytes("[libz.so.1+0x1f];[unsampled];js_[j];f 1\n", 40);

	(void)state;
	assert_int_equal(calltree_frame_at(tree, 0)->kind, CALLTREE_UNNAMED);
	assert_string_equal(calltree_frame_at(tree, 0)->module, "libz.so.1");
	assert_int_equal(calltree_frame_at(tree, 1)->kind, CALLTREE_SYNTHETIC);
	assert_int_equal(calltree_frame_at(tree, 2)->kind, CALLTREE_JIT);
	assert_int_equal(calltree_frame_at(tree, 3)->kind, CALLTREE_NATIVE);
	calltree_free(tree);
}

static void test_a_full_disk_is_an_error(void **state)
{
	struct calltree *tree = read_bytes("a 1\n", 4);
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	setvbuf(full, NULL, _IONBF, 0);
	assert_true(folded_write(tree, NULL, false, full) < 0);
	fclose(full);
	calltree_free(tree);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static char *line;
static size_t bytes;

static void check_next(struct lines *lines, const char *wanted, size_t wanted_bytes)
{
	assert_int_equal(lines_next(lines, &line, &bytes), 1);
	assert_int_equal(bytes, wanted_bytes);
	assert_memory_equal(line, wanted, wanted_bytes + 1);
}

static void every_line_comes(void **state)
{
	char text[] = "one\n\n\0two\0\nlast";
	struct lines lines = {.in = fmemopen(text, sizeof(text) - 1, "r")};

	(void)state;
	check_next(&lines, "one", 3);
	check_next(&lines, "", 0);
	check_next(&lines, "\0two\0", 5);
	check_next(&lines, "last", 4);
	assert_int_equal(lines_next(&lines, &line, &bytes), 0);
	assert_int_equal(lines_next(&lines, &line, &bytes), 0);
	fclose(lines.in);
	lines_release(&lines);
}

static void nothing_has_no_lines(void **state)
{
	struct lines lines = {.in = fopen("/dev/null", "r")};

	(void)state;
	assert_int_equal(lines_next(&lines, &line, &bytes), 0);
	fclose(lines.in);
	lines_release(&lines);
}

/* Try line lengths around the end of the buffer, where the buffer must grow. */
static void lines_of_many_lengths(void **state)
{
	const size_t first = 65000, last = 67000, step = 7;
	char *text = malloc(last * ((last - first) / step + 2)), *at = text;

	(void)state;
	for (size_t length = first; length < last; length += step) {
		memset(at, 'a' + (int)(length % 26), length);
		at[length] = '\n';
		at += length + 1;
	}
	struct lines lines = {.in = fmemopen(text, (size_t)(at - text), "r")};

	for (size_t length = first; length < last; length += step) {
		assert_int_equal(lines_next(&lines, &line, &bytes), 1);
		assert_int_equal(bytes, length);
		assert_int_equal(line[0], 'a' + (int)(length % 26));
		assert_int_equal(line[length - 1], 'a' + (int)(length % 26));
		assert_int_equal(line[length], '\0');
	}
	assert_int_equal(lines_next(&lines, &line, &bytes), 0);
	fclose(lines.in);
	lines_release(&lines);
	free(text);
}

static void a_line_without_end_is_given_up(void **state)
{
	struct lines lines = {.in = fopen("/dev/zero", "r")};

	(void)state;
	assert_int_equal(lines_next(&lines, &line, &bytes), -EFBIG);
	assert_true(lines.room <= 2 * LINES_BYTES_MAX);
	fclose(lines.in);
	lines_release(&lines);
}

static void failures_are_told(void **state)
{
	struct lines lines = {.in = fopen("/", "r")};

	(void)state;
	assert_int_equal(lines_next(&lines, &line, &bytes), -EISDIR);
	fclose(lines.in);
	lines_release(&lines);
}

/* ---- folded doubt ---------------------------------------------------------------------------- */

static struct diag_message message;
static struct folded_bad doubted;

/* Returns the result of folded_read() for the @length bytes at @text. */
static int read_doubtful(const char *text, size_t length)
{
	struct calltree *tree = calltree_new();
	FILE *in = fmemopen((void *)(uintptr_t)text, length, "r");
	int error;

	message = (struct diag_message){0};
	doubted = (struct folded_bad){0};
	error = read_file(tree, in, "x", &doubted, &message);
	fclose(in);
	calltree_free(tree);
	return error;
}
#define READ(text) read_doubtful(text, sizeof(text) - 1)

static void bytes_that_no_text_has(void **state)
{
	char late[4 * FOLDED_DOUBT_LINES + 16] = "";
	size_t length = 0;

	(void)state;
	assert_int_equal(READ("a 1\nb\0 2\n"), -ENODATA);
	assert_string_equal(
		message.text, "x:2: a NUL byte, where \"outer;inner weight\" was expected");
	for (; length < 4 * FOLDED_DOUBT_LINES; length += 4)
		memcpy(late + length, "a 1\n", 4);
	/* A crash of the machine may leave NULs at the end of a file. */
	assert_int_equal(read_doubtful(late, sizeof(late)), 0);
	assert_int_equal(doubted.count, 1);
	assert_int_equal(doubted.first, FOLDED_DOUBT_LINES + 1);
}

static void lines_that_are_no_stacks(void **state)
{
	char text[4 * FOLDED_OTHERS + 32] = "";
	size_t length = 0;

	(void)state;
	assert_int_equal(READ("some words\n"), -ENODATA);
	assert_string_equal(message.text, "x:1: not \"outer;inner weight\"");
	assert_int_equal(READ("\nsome\nwords\n\n"), -ENODATA);
	assert_string_equal(message.text, "x:2: not \"outer;inner weight\", like 2 of 2 lines");
	for (unsigned i = 1; i < FOLDED_OTHERS; i++, length += 4)
		memcpy(text + length, "a 1\n", 4);
	/* 1 of 20 lines may be something else, 1 of 19 not. */
	strcpy(text + length, "no\n");
	assert_int_equal(read_doubtful(text, strlen(text)), 0);
	assert_int_equal(doubted.stacks, 19);
	assert_int_equal(doubted.count, 1);
	assert_int_equal(doubted.first, 20);
	assert_int_equal(read_doubtful(text + 4, strlen(text + 4)), -ENODATA);
	assert_string_equal(message.text, "x:19: not \"outer;inner weight\", like 1 of 19 lines");
	strcpy(text + length, "# austin: 3.6.0\n");
	assert_int_equal(read_doubtful(text, strlen(text)), 0);
	assert_int_equal(doubted.count, 0);
}

/* A file is refused before all of it is read if it has no stack at its beginning. */
static void many_lines_that_are_no_stacks(void **state)
{
	char text[3 * FOLDED_DOUBT_LINES + 16] = "";
	size_t length = 0;

	(void)state;
	for (unsigned i = 0; i < FOLDED_DOUBT_LINES; i++, length += 3)
		memcpy(text + length, "no\n", 3);
	strcpy(text + length, "a 1\n");
	assert_int_equal(read_doubtful(text, strlen(text)), -ENODATA);
	assert_string_equal(message.text, "x:1: not \"outer;inner weight\", like 100 of 100 lines");
}

static void a_line_without_end(void **state)
{
	struct calltree *tree = calltree_new();
	FILE *in = fopen("/dev/zero", "r");

	(void)state;
	assert_int_equal(read_file(tree, in, "x", &doubted, &message), -EFBIG);
	assert_string_equal(message.text, "x:1: a line of more than 64 MiB");
	fclose(in);
	calltree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_merge_and_sort),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_bad_lines_are_counted),
		cmocka_unit_test(test_counts_that_no_picture_holds_are_refused),
		cmocka_unit_test(test_two_counts_are_a_comparison),
		cmocka_unit_test(test_two_counts_are_two_trees),
		cmocka_unit_test(test_a_byte_order_mark_is_no_name),
		cmocka_unit_test(test_sums_do_not_wrap),
		cmocka_unit_test(test_hostile_bytes),
		cmocka_unit_test(test_names_with_separators_are_written_safely),
		cmocka_unit_test(test_long_lines_and_depth),
		cmocka_unit_test(test_kinds_come_back_from_brackets),
		cmocka_unit_test(test_a_full_disk_is_an_error),
		cmocka_unit_test(every_line_comes),
		cmocka_unit_test(nothing_has_no_lines),
		cmocka_unit_test(lines_of_many_lengths),
		cmocka_unit_test(a_line_without_end_is_given_up),
		cmocka_unit_test(failures_are_told),
		cmocka_unit_test(bytes_that_no_text_has),
		cmocka_unit_test(lines_that_are_no_stacks),
		cmocka_unit_test(many_lines_that_are_no_stacks),
		cmocka_unit_test(a_line_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
