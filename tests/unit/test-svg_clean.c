/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* Replace style attributes, shorten coordinates, and copy everything else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "render/svg_clean.h"

/*
 * Check that svg_clean_put() turns @text into @wanted. The input buffer has the text's exact size,
 * so that sanitizers detect reads beyond it.
 */
static void check(const char *text, const char *wanted)
{
	struct bytes bytes = {0};
	size_t length = strlen(text);
	char *exact = malloc(length + !length);

	memcpy(exact, text, length);
	svg_clean_put(&bytes, exact, exact + length, "abcde");
	assert_int_equal(bytes.error, 0);
	bytes_put(&bytes, "", 1);
	assert_string_equal((const char *)bytes.data, wanted);
	bytes_release(&bytes);
	free(exact);
}

static void test_paths_get_shorter(void **state)
{
	(void)state;
	check("<path d=\"M 24 9.5 L 30.5 9.5 M 31.5 9.5 L 40 9.5 M 2 27.5 L 2.75 27.5 \"/>",
		"<path d=\"M24 9.5h6.5m1 0h8.5m-38 18h.75\"/>");
	check("<path a=\"M\" d=\"M 1 2 L 3 2 L 3 4 L 1 4 Z M 1 2 M 5.25 -2 L 7 -3\"/><g/>",
		"<path a=\"M\" d=\"M1 2h2v2h-2zm0 0m4.25-4l1.75-1\"/><g/>");
	check("<path d=\"M 1 2 C 3 2 3 4 1 4 L 0 4 C 0.5 4 0 4 0 5 Z L 9 9 L 1 9\"/>",
		"<path d=\"M1 2c2 0 2 2 0 2h-1c.5 0 0 0 0 1zl8 7h-8\"/>");
}

/* Points are rounded before they are subtracted, so that errors do not add up. */
static void test_coordinates_are_rounded(void **state)
{
	(void)state;
	check("<path d=\"M 0 0.004 L 1.006 3 L 2.012 6 L 3.018 9 L 4.024 12 L 5.03 15\"/>",
		"<path d=\"M0 0l1.01 3l1 3l1.01 3l1 3l1.01 3\"/>");
	check("<path d=\"M -0.0051 -7.5 L 1099511627.776 0\"/>",
		"<path d=\"M-.01-7.5l1099511627.79 7.5\"/>");
	check("<use x=\"35.612793\" y=\"38\"/>", "<use x=\"35.61\" y=\"38\"/>");
	check("<use x=\"-0.996\" max=\"1.2345\" y=\"-0.001\"/>",
		"<use x=\"-1\" max=\"1.2345\" y=\"0\"/>");
}

/* A content security policy may forbid style attributes. */
static void test_styles_become_attributes(void **state)
{
	(void)state;
	check("<path style=\"fill:none;stroke:rgb(1%,2.5%,3%);\" d=\"M 1 2 L 3 2\"/>",
		"<path fill=\"none\" stroke=\"rgb(1%,2.5%,3%)\" d=\"M1 2h2\"/>");
	check("<a style=\"fill:red\" b=\"1\"/><a style=\"\"/><a style=\"fill\"/><a style=\";;\"/>",
		"<a fill=\"red\" b=\"1\"/><a/><a/><a/>");
	check("<g\n style=\"fill:red;\"/>", "<g\n fill=\"red\"/>");
	check("style=\"fill:red;\"", "style=\"fill:red;\"");
}

static void test_indentation_goes(void **state)
{
	(void)state;
	check("<g>\n  <use x=\"1\"/>\n    text \n</g>\n  ", "<g>\n<use x=\"1\"/>\ntext \n</g>\n");
}

static void test_glyphs_are_named_anew(void **state)
{
	(void)state;
	check("<symbol id=\"glyph0-1\"/><use href=\"#glyph0-1\" x=\"1.00\"/>",
		"<symbol id=\"abcde0-1\"/><use href=\"#abcde0-1\" x=\"1\"/>");
	check("<g id=\"glyp\" a=\"#\" b=\"a#glyph\"/>", "<g id=\"glyp\" a=\"#\" b=\"a#glyph\"/>");
}

static void check_kept(const char *text)
{
	check(text, text);
}

static void test_everything_else_stays(void **state)
{
	static const char *const kept[] = {"", "text", "<path d=\"", "<path d=\"M 1 2 L 3",
		"<path d=\"M 1 2 H 3\"/>", "<path d=\"M 1 2 L 3\"/>", "<path d=\"M 1 2 L 3 x\"/>",
		"<path d=\"M 1 2 3 4\"/>", "<path d=\"M 1e3 2\"/>", "<path d=\"M 1 2 C 1 2 3 4\"/>",
		"<path d=\"M - 2\"/>", "<path d=\"M 1.2.3 2\"/>", "<path d=\"M . 2\"/>",
		"<path d=\"M 9999999999999999999999999999999999 2\"/>",
		"<use x=\"1px\" y=\"10%\" x=\"\"/>", "<a style=\"stroke:", "<use xx=\"1.2345\"/>",
		"=\"", "d=\"M 1 2\""};

	(void)state;
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		check_kept(kept[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths_get_shorter),
		cmocka_unit_test(test_coordinates_are_rounded),
		cmocka_unit_test(test_styles_become_attributes),
		cmocka_unit_test(test_indentation_goes),
		cmocka_unit_test(test_glyphs_are_named_anew),
		cmocka_unit_test(test_everything_else_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
