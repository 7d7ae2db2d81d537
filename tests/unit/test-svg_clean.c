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
 * Check that @text becomes @wanted. The input buffer has the text's exact size, so that sanitizers
 * detect reads beyond it.
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
		"<path d=\"M24 9.5H30.5M31.5 9.5H40M2 27.5H2.75\"/>");
	check("<path a=\"M\" d=\"M 1 2 L 3 2 L 3 4 L 1 4 Z M 1 2 M 5.25 -2 L 7 -3\"/><g/>",
		"<path a=\"M\" d=\"M1 2H3L3 4H1ZM1 2M5.25 -2L7 -3\"/><g/>");
	check("<path d=\"M 1 2 C 3 2 3 4 1 4 L 0 4 C 0.5 4 0 4 0 5 Z L 9 9 L 1 9\"/>",
		"<path d=\"M1 2C3 2 3 4 1 4H0C0.5 4 0 4 0 5ZL9 9H1\"/>");
	/* After Z the current point is the start again, so the line is not horizontal. */
	check("<path d=\"M 1 2 L 3 4 Z L 9 4\"/>", "<path d=\"M1 2L3 4ZL9 4\"/>");
}

static void test_coordinates_are_rounded(void **state)
{
	(void)state;
	check("<path d=\"M 0 0.004 L 1.006 3.10 L -2.0126 6\"/>",
		"<path d=\"M0 0L1.01 3.1L-2.01 6\"/>");
	check("<path d=\"M -0.0051 -7.5 L 1099511627.776 0\"/>",
		"<path d=\"M-0.01 -7.5L1099511627.78 0\"/>");
	check("<use x=\"35.612793\" y=\"38\"/>", "<use x=\"35.61\" y=\"38\"/>");
	check("<use x=\"-0.995\" max=\"1.2345\" y=\"-0.001\"/>",
		"<use x=\"-0.99\" max=\"1.2345\" y=\"0\"/>");
}

/* A content security policy may forbid style attributes. */
static void test_styles_become_attributes(void **state)
{
	(void)state;
	check("<path style=\"fill:none;stroke:rgb(1%,2.5%,3%);\" d=\"M 1 2 L 3 2\"/>",
		"<path fill=\"none\" stroke=\"rgb(1%,2.5%,3%)\" d=\"M1 2H3\"/>");
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
		"<use x=\"1px\" y=\"10%\" x=\"\"/>", "<a style=\"stroke:",
		"<use xx=\"1.2345\"/>", "=\"", "d=\"M 1 2\""};

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
