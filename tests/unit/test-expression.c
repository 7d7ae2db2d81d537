/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/expression.h"

static int match(const char *expression, const char *text)
{
	struct expression *made = NULL;
	char why[EXPRESSION_WHY_BYTES];
	int result;

	assert_int_equal(expression_new(&made, expression, why), 0);
	result = expression_match(made, text, strlen(text));
	expression_free(made);
	return result;
}

/* tests/browser/words.test.mjs checks JavaScript's by the same table. */
static void test_the_syntax_of_javascript(void **state)
{
	char path[4096], line[256];
	unsigned cases = 0;
	FILE *in;

	(void)state;
	snprintf(path, sizeof(path), "%.*stests/expressions.tsv",
		(int)(sizeof(__FILE__) - sizeof("tests/unit/test-expression.c")), __FILE__);
	in = fopen(path, "re");
	assert_non_null(in);
	while (fgets(line, sizeof(line), in)) {
		char *rest = line, *expression = strsep(&rest, "\t\n"),
		     *name = strsep(&rest, "\t\n");

		if (line[0] == '#')
			continue;
		assert_non_null(rest);
		if (match(expression, name) != !strncmp(rest, "yes", 3))
			fail_msg("%s: %s", expression, name);
		cases++;
	}
	fclose(in);
	assert_true(cases > 30);
	assert_int_equal(match("a$", "a\n"), 0);
	/* A name of two lines is shown in one. */
	assert_int_equal(match("a.b", "a\nb"), 1);
}

static void test_wrong_expressions(void **state)
{
	static const char *const cases[][2] = {
		{"ab(c", "missing closing parenthesis in"},
		{"*a", "quantifier does not follow a repeatable item in"},
		{"(((a{1,200}){1,200}){1,200}){1,200}", "regular expression is too large in"},
		{"\xff", "UTF-8 error: "},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct expression *made = NULL;
		char why[EXPRESSION_WHY_BYTES];

		assert_int_equal(expression_new(&made, cases[i][0], why), -EINVAL);
		assert_null(made);
		assert_non_null(strstr(why, cases[i][1]));
	}
}

static void test_texts_that_are_no_utf8(void **state)
{
	(void)state;
	assert_int_equal(match("a.c", "\xff\xfe\x80"
				      "abc\xc3"),
		1);
	assert_int_equal(match("^abc", "\xff"
				       "abc"),
		0);
}

/* A match that would take years is given up. */
static void test_time_is_limited(void **state)
{
	char text[4097];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(match("(a+)+[bc]", text), -EAGAIN);
	assert_int_equal(match("(a+)+", text), 1);
}

static void test_replacing(void **state)
{
	struct expression *made = NULL;
	char why[EXPRESSION_WHY_BYTES], out[8];

	(void)state;
	assert_int_equal(expression_new(&made, "(x)\\d", why), 0);
	assert_int_equal(expression_replace(made, "x1ax2", "$1", out, sizeof(out)), 0);
	assert_string_equal(out, "xax");
	assert_int_equal(expression_replace(made, "abc", "$1", out, sizeof(out)), 0);
	assert_string_equal(out, "abc");
	assert_int_equal(expression_replace(made, "x1abcdefg", "$1", out, sizeof(out)), -ENOBUFS);
	expression_free(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_syntax_of_javascript),
		cmocka_unit_test(test_wrong_expressions),
		cmocka_unit_test(test_texts_that_are_no_utf8),
		cmocka_unit_test(test_time_is_limited),
		cmocka_unit_test(test_replacing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
