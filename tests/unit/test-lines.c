/* SPDX-License-Identifier: MIT */
/* Lines of a stream: whole ones across every buffer's end, and one that has no end. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/formats/lines.h"

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

/* Lengths on both sides of where the buffer ends, and of where it grows. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_line_comes),
		cmocka_unit_test(nothing_has_no_lines),
		cmocka_unit_test(lines_of_many_lengths),
		cmocka_unit_test(a_line_without_end_is_given_up),
		cmocka_unit_test(failures_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
