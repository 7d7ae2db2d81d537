/* SPDX-License-Identifier: MIT */
/* What is certainly no folded stacks, and what could be. */
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

static struct diag_message message;
static struct folded_bad bad;

/* What folded_read() says of these bytes. */
static int read_bytes(const char *text, size_t length)
{
	struct calltree *tree = calltree_new();
	FILE *in = fmemopen((void *)(uintptr_t)text, length, "r");
	int error;

	message = (struct diag_message){0};
	bad = (struct folded_bad){0};
	error = folded_read(tree, in, "x", &bad, &message);
	fclose(in);
	calltree_free(tree);
	return error;
}
#define READ(text) read_bytes(text, sizeof(text) - 1)

static void other_files_are_named(void **state)
{
	(void)state;
	assert_int_equal(READ("\x89PNG\r\n\x1a\n"), -ENODATA);
	assert_string_equal(
		message.text, "x:1: a PNG picture, where \"outer;inner weight\" was expected");
	assert_int_equal(READ("<?xml version=\"1.0\"?>\na 1\n"), -ENODATA);
	assert_non_null(strstr(message.text, "x:1: an SVG picture or other XML"));
	assert_non_null(strstr(message.hint, "-o run.folded"));
	assert_int_equal(READ("%PDF-1.7\n12 0 obj 1\n"), -ENODATA);
	assert_int_equal(READ("PERFILE2\x68\0\0"), -ENODATA);
	assert_non_null(strstr(message.text, "a recording of perf"));
	assert_non_null(strstr(message.hint, "perf script | stackcollapse-perf.pl"));
	assert_int_equal(READ("\x7f"
			      "ELF\2\1\1"),
		-ENODATA);
	assert_int_equal(READ("\x1f\x8b\x08 1\n"), -ENODATA);
	assert_int_equal(READ("{\"nodes\": [\n1\n"), -ENODATA);
	assert_non_null(strstr(message.text, "JSON"));
	assert_string_equal(message.hint, "");
}

static void functions_may_be_called_alike(void **state)
{
	(void)state;
	assert_int_equal(READ("<svg::Node as Clone>::clone;f 1\n"), 0);
	assert_int_equal(READ("{closure#0};f 1\n"), 0);
	assert_int_equal(READ("[unsampled] 3\n"), 0);
	assert_int_equal(READ("PERFILE 3\n"), 0);
	assert_int_equal(READ("%P 3\n"), 0);
	/* Only beginnings tell. */
	assert_int_equal(READ("main 1\n<?xml version=\"1.0\"?>\n"), 0);
	assert_int_equal(bad.count, 1);
}

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
	/* As a crash of the machine leaves the end of a file. */
	assert_int_equal(read_bytes(late, sizeof(late)), 0);
	assert_int_equal(bad.count, 1);
	assert_int_equal(bad.first, FOLDED_DOUBT_LINES + 1);
}

static void lines_that_are_no_stacks(void **state)
{
	char text[3 * FOLDED_DOUBT_LINES + 32] = "\n";
	size_t length = 1;

	(void)state;
	assert_int_equal(READ("some words\n"), -ENODATA);
	assert_string_equal(message.text, "x:1: not \"outer;inner weight\"");
	assert_int_equal(READ("\nsome\nwords\n\n"), -ENODATA);
	assert_string_equal(message.text,
		"x:2: not \"outer;inner weight\", nor is any other of its first 2 lines");
	for (unsigned i = 1; i < FOLDED_DOUBT_LINES; i++, length += 3)
		memcpy(text + length, "no\n", 3);
	/* One line less than it takes, then a stack: the file is believed. */
	strcpy(text + length, "a 1\nno\nno\n");
	assert_int_equal(read_bytes(text, strlen(text)), 0);
	assert_int_equal(bad.count, FOLDED_DOUBT_LINES + 1);
	assert_int_equal(bad.first, 2);
	strcpy(text + length, "no\na 1\n");
	assert_int_equal(read_bytes(text, strlen(text)), -ENODATA);
	assert_string_equal(message.text,
		"x:2: not \"outer;inner weight\", nor is any other of its first 100 lines");
}

static void a_line_without_end(void **state)
{
	struct calltree *tree = calltree_new();
	FILE *in = fopen("/dev/zero", "r");

	(void)state;
	assert_int_equal(folded_read(tree, in, "x", &bad, &message), -EFBIG);
	assert_string_equal(message.text, "x:1: a line of more than 64 MiB");
	fclose(in);
	calltree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_files_are_named),
		cmocka_unit_test(functions_may_be_called_alike),
		cmocka_unit_test(bytes_that_no_text_has),
		cmocka_unit_test(lines_that_are_no_stacks),
		cmocka_unit_test(a_line_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
