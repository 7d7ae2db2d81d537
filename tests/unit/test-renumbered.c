/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/compare/renumbered.h"

static struct renumbered *rules;

static void check(const char *name, const char *wanted)
{
	char *text = renumbered_name(rules, name, true);

	assert_non_null(text);
	assert_string_equal(text, wanted);
	free(text);
}

/* tests/browser/words.test.mjs checks the viewer by the same table. */
static void test_the_common_table(void **state)
{
	char path[4096], line[1024];
	unsigned cases = 0, kept = 0;
	FILE *in;

	(void)state;
	snprintf(path, sizeof(path), "%.*stests/renumbered.tsv",
		(int)(sizeof(__FILE__) - sizeof("tests/unit/test-renumbered.c")), __FILE__);
	in = fopen(path, "re");
	assert_non_null(in);
	while (fgets(line, sizeof(line), in)) {
		char *wanted = line, *name = strsep(&wanted, "\t");

		if (line[0] == '#')
			continue;
		assert_non_null(wanted);
		wanted[strcspn(wanted, "\n")] = '\0';
		check(name, wanted);
		kept += !strcmp(name, wanted);
		cases++;
	}
	fclose(in);
	assert_true(kept > 15 && cases > kept + 30);
}

static void check_of_one_version(const char *name, const char *wanted)
{
	char *text = renumbered_name(rules, name, false);

	assert_non_null(text);
	assert_string_equal(text, wanted);
	free(text);
}

/* tests/browser/words.test.mjs has the same cases. */
static void test_lines_of_names_in_one_version(void **state)
{
	(void)state;
	check_of_one_version("work (app.py:10)", "work (app.py)");
	check_of_one_version("(anonymous) (main.4f3a9c1b2d.js:7)", "(anonymous) (main.js)");
	check_of_one_version("work ((eval 3):1)", "work ((eval):1)");
	check_of_one_version("work (app.py)", "work (app.py)");
	check_of_one_version("work:10", "work:10");
}

static void test_names_that_are_no_text(void **state)
{
	static char longest[100000];

	(void)state;
	check("", "");
	check("::h0123456789abcdef", "::h0123456789abcdef");
	check("\xff\xc3(App$$Lambda$4.run\x80", "\xff\xc3(App$$Lambda.run\x80");
	check("\xc3\xa9\xe2\x82\xac$$Lambda$4.run", "\xc3\xa9\xe2\x82\xac$$Lambda.run");
	for (const char *piece = "$$Lambda$4 .0x12345678 {closure#1 _1 a.b-"; *piece; piece++) {
		memset(longest, *piece, sizeof(longest) - 1);
		check(longest, longest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_common_table),
		cmocka_unit_test(test_lines_of_names_in_one_version),
		cmocka_unit_test(test_names_that_are_no_text),
	};
	int failed;

	if (renumbered_new(&rules))
		return EXIT_FAILURE;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	renumbered_free(rules);
	return failed;
}
