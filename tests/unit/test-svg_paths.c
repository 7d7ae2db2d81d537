/* SPDX-License-Identifier: MIT */
/* Rectangles get shorter, everything else stays to the byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "render/svg_paths.h"

/* @text comes out as @wanted, from a buffer without room behind it. */
static void check(const char *text, const char *wanted)
{
	struct bytes bytes = {0};
	size_t length = strlen(text);
	char *exact = malloc(length + !length);

	memcpy(exact, text, length);
	svg_paths_put(&bytes, exact, exact + length);
	assert_int_equal(bytes.error, 0);
	bytes_put(&bytes, "", 1);
	assert_string_equal((const char *)bytes.data, wanted);
	bytes_release(&bytes);
	free(exact);
}

static void test_rectangles_get_shorter(void **state)
{
	(void)state;
	check("<path d=\"M 1 2 L 3 2 L 3 4 L 1 4 Z M 1 2 \"/>", "<path d=\"M1 2H3V4H1Z\"/>");
	check("<path a=\"M\" d=\"M 1 2 L 3 2 L 3 4 L 1 4 Z M 1 2 M 5.25 -2 L 7 -2 L 7 4 L 5.25 4 "
	      "Z\"/><g/>",
		"<path a=\"M\" d=\"M1 2H3V4H1ZM5.25 -2H7V4H5.25Z\"/><g/>");
}

static void check_kept(const char *text)
{
	check(text, text);
}

static void test_everything_else_stays(void **state)
{
	(void)state;
	check_kept("");
	check_kept("text");
	check_kept("<path d=\"");
	check_kept("<path d=\"M 1 2 L 3");
	check_kept("<path d=\"M 1 2 L 3 2 L 3 4 L 1 4\"/>");
	check_kept("<path d=\"M 1 2 L 3 2 L 3 4 L 1 5 Z\"/>");
	check_kept("<path d=\"M 1 2 L 3 9 L 3 4 L 1 4 Z\"/>");
	check_kept("<path d=\"M 1 2 L 8 2 L 3 4 L 1 4 Z\"/>");
	check_kept("<path d=\"M 1 2 L 3 2 L 3 4 L 6 4 Z\"/>");
	check_kept("<path d=\"M 1 2 C 3 2 3 4 1 4 Z\"/>");
	/* A pen moved elsewhere at the end, and a rectangle among other shapes. */
	check_kept("<path d=\"M 1 2 L 3 2 L 3 4 L 1 4 Z M 9 9\"/>");
	check_kept("<path d=\"M 1 2 L 3 2 L 3 4 L 1 4 Z L 9 9\"/>");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rectangles_get_shorter),
		cmocka_unit_test(test_everything_else_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
