/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Join the name of a virtual machine's function with its file and line, and split the result again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/picture_names.h"

static void assert_made(const char *expected, const char *name, const char *file, uint32_t line)
{
	char *made = machine_name_make(name, file, line);

	assert_string_equal(made, expected);
	free(made);
}

static void names_are_made_of_what_is_known(void **state)
{
	(void)state;
	assert_made("fib (script.lua:12)", "fib", "script.lua", 12);
	assert_made("fib (script.lua)", "fib", "script.lua", 0);
	assert_made("fib", "fib", "", 12);
	assert_made(" (", " (", "", 0);
}

static void parts_come_back(void **state)
{
	static const struct {
		const char *name, *file;
		uint32_t line;
	} cases[] = {
		{"fib", "script.lua", 12},
		{"operator() (int)", "C:\\a b.rb", 4294967295u},
		{"a", "b", 1},
		{"f (x:1)", "(weird).py:7", 3},
		{"\xff", "\xfe", 9},
	};
	struct machine_name parts;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *whole = machine_name_make(cases[i].name, cases[i].file, cases[i].line);

		assert_true(machine_name_split(whole, &parts));
		assert_int_equal(parts.name_bytes, strlen(cases[i].name));
		assert_int_equal(parts.file_bytes, strlen(cases[i].file));
		assert_memory_equal(parts.file, cases[i].file, parts.file_bytes);
		assert_int_equal(parts.line, cases[i].line);
		free(whole);
	}
}

static void other_names_stay_whole(void **state)
{
	static const char *const names[] = {"", "fib", "fib (script.lua)", "fib (:12)", " (a:1)",
		"fib (a:1) ", "fib (a:)", "fib (a:-1)", "fib (a:4294967296)", "fib (a:x1)",
		"fib(a:1)", "string.rep", "[vm]", "f (a:99999999999999999999999)"};
	struct machine_name parts;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_false(machine_name_split(names[i], &parts));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_made_of_what_is_known),
		cmocka_unit_test(parts_come_back),
		cmocka_unit_test(other_names_stay_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
