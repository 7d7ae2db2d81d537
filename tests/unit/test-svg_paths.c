/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* Shorten paths and coordinates in an SVG, and copy everything else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "render/svg_paths.h"

/*
 * Check that @text becomes @wanted. The input buffer has the text's exact size, so that sanitizers
 * detect reads beyond it.
 */
static void check(const char *text, const char *wanted)
{
	struct bytes bytes = {0};
	size_t length = strlen(text);
	char *exact = malloc(length + !length);

	memcpy(exact, text, length);
	svg_paths_put(&bytes, exact, exact + length, "abcde");
	assert_int_equal(bytes.error, 0);
	bytes_put(&bytes, "", 1);
	assert_string_equal((const char *)bytes.data, wanted);
	bytes_release(&bytes);
	free(exact);
}

static void test_lines_get_shorter(void **state)
{
	(void)state;
	check("<path d=\"M 24 9.5 L 30.5 9.5 M 31.5 9.5 L 40 9.5 M 2 27.5 L 2.75 27.5 \"/>",
		"<path d=\"M24 9.5h6.5m1 0h8.5m-38 18h.75\"/>");
	check("<path a=\"M\" d=\"M 1 2 L 3 2 L 3 4 L 1 4 Z M 1 2 M 5.25 -2 L 7 -3\"/><g/>",
		"<path a=\"M\" d=\"M1 2h2v2h-2zm4.25-4l1.75-1\"/><g/>");
	check("<path d=\"M 1 2 C 3 2 3 4 1 4 C 0.5 4 0 4 0 5 Z L 9 9\"/>",
		"<path d=\"M1 2c2 0 2 2 0 2-.5 0-1 0-1 1zl8 7\"/>");
}

static void test_what_the_grammar_lets_out(void **state)
{
	(void)state;
	check("<path d=\"M 0.5 0.25 L 0.75 0.75 L 1.5 0.875 L 2 1 M 0.1 0.2\"/>",
		"<path d=\"M.5.25l.25.5.75.13.5.12m-1.9-.8\"/>");
	check("<path d=\"M 1 0.5 C 2 0.5 2.5 1.5 3 2 C 3.5 2 4 2 4.25 2.5 L 5 9 L 6 8\"/>",
		"<path d=\"M1 .5c1 0 1.5 1 2 1.5.5 0 1 0 1.25.5l.75 6.5 1-1\"/>");
}

/*
 * Coordinates are rounded before differences are computed, so that rounding errors do not add up.
 */
static void test_rounding_does_not_add_up(void **state)
{
	(void)state;
	check("<path d=\"M 0 0.004 L 1.006 3 L 2.012 6 L 3.018 9 L 4.024 12 L 5.03 15\"/>",
		"<path d=\"M0 0l1.01 3 1 3 1.01 3 1 3 1.01 3\"/>");
	check("<path d=\"M -0.0051 -7.5 L 1099511627.776 0\"/>",
		"<path d=\"M-.01-7.5l1099511627.79 7.5\"/>");
}

static void test_places_are_rounded(void **state)
{
	(void)state;
	check("<use x=\"35.612793\" y=\"38\"/>", "<use x=\"35.61\" y=\"38\"/>");
	check("<use x=\"-0.995\" max=\"1.2345\" y=\"0.001\"/>",
		"<use x=\"-1\" max=\"1.2345\" y=\"0\"/>");
}

static void test_what_says_nothing_goes(void **state)
{
	(void)state;
	check("<g>\n  <use x=\"1\"/>\n    text \n</g>\n  ", "<g>\n<use x=\"1\"/>\ntext \n</g>\n");
	check("<path style=\"stroke:none;\" d=\"M 1 2 L 3 2\"/>\n <path style=\"stroke:none;\"/>",
		"<path d=\"M1 2h2\"/>\n<path/>");
}

static void test_glyphs_are_named_anew(void **state)
{
	(void)state;
	check("<symbol id=\"glyph0-1\"/><use href=\"#glyph0-1\" x=\"1.00\"/>",
		"<symbol id=\"abcde0-1\"/><use href=\"#abcde0-1\" x=\"1\"/>");
	check("<g id=\"glyp\" a=\"#\" b=\"a#glyph\"/>", "<g id=\"glyp\" a=\"#\" b=\"a#glyph\"/>");
}

static void test_letters_are_paths(void **state)
{
	(void)state;
	check("<defs>\n<symbol overflow=\"visible\" id=\"glyph0-1\">\n"
	      "<path style=\"stroke:none;\" d=\"M 1 2 L 3 2\"/>\n</symbol>\n</defs>",
		"<defs>\n<path id=\"abcde0-1\" d=\"M1 2h2\"/>\n</defs>");
	check("<symbol overflow=\"visible\" id=\"glyph0-1\">\n<image x=\"1.00\"/>\n</symbol>",
		"<symbol overflow=\"visible\" id=\"abcde0-1\">\n<image x=\"1\"/>\n</symbol>");
}

static void check_kept(const char *text)
{
	check(text, text);
}

static void test_everything_else_stays(void **state)
{
	static const char *const kept[] = {"", "text", "<path d=\"", "<path d=\"M 1 2 L 3",
		"<path d=\"L 1 2\"/>", "<path d=\"M 1 2 H 3\"/>", "<path d=\"M 1 2 L 3\"/>",
		"<path d=\"M 1 2 L 3 x\"/>", "<path d=\"M 1 2 3 4\"/>", "<path d=\"M 1e3 2\"/>",
		"<path d=\"M 1 2 C 1 2 3 4\"/>", "<path d=\"M - 2\"/>", "<path d=\"M 1.2.3 2\"/>",
		"<path d=\"M . 2\"/>", "<path d=\"M 1. 2\"/>",
		"<path d=\"M 99999999999999999999 2\"/>", "<use x=\"1px\" y=\"10%\" x=\"\"/>",
		"style=\"stroke:none;\"", "<symbol overflow=\"visible\" id=\"",
		"<symbol overflow=\"visible\" id=\"a\">\n<path style=\"stroke:",
		"<a style=\"stroke:none;fill:red;\"/>", "<use xx=\"1.2345\"/>", "=\"",
		"d=\"M 1 2\""};

	(void)state;
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		check_kept(kept[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_get_shorter),
		cmocka_unit_test(test_what_the_grammar_lets_out),
		cmocka_unit_test(test_rounding_does_not_add_up),
		cmocka_unit_test(test_places_are_rounded),
		cmocka_unit_test(test_what_says_nothing_goes),
		cmocka_unit_test(test_glyphs_are_named_anew),
		cmocka_unit_test(test_letters_are_paths),
		cmocka_unit_test(test_everything_else_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
