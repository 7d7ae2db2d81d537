/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* Convert untrusted text to valid UTF-8 that fits its box; format numbers with commas. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "render/label.h"

#define BAD  "\xef\xbf\xbd"
#define DOTS "\xe2\x80\xa6"

static double one(const struct label_measure *measure, uint32_t point)
{
	(void)measure;
	(void)point;
	return 1;
}

static const struct label_measure cells = {one};

static void check_clean(const char *text, const char *wanted)
{
	char clean[64];
	size_t length = label_clean(clean, sizeof(clean), text);

	assert_string_equal(clean, wanted);
	assert_int_equal(length, strlen(wanted));
}

static void test_clean_replaces_what_is_no_utf8(void **state)
{
	(void)state;
	check_clean("", "");
	check_clean("main", "main");
	check_clean("na\xc3\xafve \xe2\x82\xac \xf0\x9f\x94\xa5",
		"na\xc3\xafve \xe2\x82\xac \xf0\x9f\x94\xa5");
	check_clean("a\xff"
		    "b",
		"a" BAD "b");
	check_clean("\xc3", BAD); /* cut off */
	check_clean("\xe2\x82"
		    "x",
		BAD BAD "x");
	check_clean("\xc0\xaf", BAD BAD); /* overlong */
	check_clean("\xe0\x9f\x80", BAD BAD BAD);
	check_clean("\xf0\x8f\xbf\xbd", BAD BAD BAD BAD);
	check_clean("\xed\xa0\x80", BAD BAD BAD);	  /* surrogate */
	check_clean("\xf4\x90\x80\x80", BAD BAD BAD BAD); /* above U+10FFFF */
	check_clean("a\nb\x01\x7f", "a" BAD "b" BAD BAD);
	check_clean("\xc2\x85", BAD); /* C1 control */
	check_clean("\xe2\x80\xae"
		    "evil",
		BAD "evil");				  /* right-to-left override */
	check_clean("\xef\xbf\xbe\xef\xbf\xbf", BAD BAD); /* not in XML */
}

static void test_clean_cuts_between_code_points(void **state)
{
	char clean[12];

	(void)state;
	memset(clean, 'x', sizeof(clean));
	assert_int_equal(label_clean(clean, 8, "abcdefghij"), 7);
	assert_string_equal(clean, "abcd" DOTS);
	assert_int_equal(clean[8], 'x');
	/* Seven bytes and the NUL fit exactly, so the text is not cut. */
	assert_int_equal(label_clean(clean, 8, "abcdefg"), 7);
	assert_string_equal(clean, "abcdefg");
	label_clean(clean, 8, "a\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac");
	assert_string_equal(clean, "a\xe2\x82\xac" DOTS);
}

static void check_fit(const char *name, double width_px, enum label_names names, const char *wanted)
{
	char fitted[LABEL_BYTES];
	size_t length = label_fit(fitted, name, NULL, width_px, &cells, names);

	assert_int_equal(length, strlen(wanted));
	if (length)
		assert_string_equal(fitted, wanted);
}

static void test_fit_prefers_the_whole_then_the_short_then_a_cut(void **state)
{
	static const char name[] = "std::vector<int, A<int>>::push(T<int>)";

	(void)state;
	check_fit("main", 4, LABEL_WHOLE, "main");
	check_fit("main", 3.5, LABEL_WHOLE, "ma" DOTS);
	check_fit("main", 2.5, LABEL_WHOLE, "");
	check_fit(name, 40, LABEL_WHOLE, name);
	check_fit(name, 30, LABEL_WHOLE, "std::vector<" DOTS ">::push");
	check_fit(name, 16, LABEL_WHOLE, "std::vector" DOTS "push");
	check_fit(name, 40, LABEL_SHORT, "std::vector<" DOTS ">::push");
	check_fit(name, 16, LABEL_SHORT, "std::vector" DOTS "push");
	check_fit("f.<locals>.<lambda>", 15, LABEL_SHORT, "f.<loca" DOTS "lambda>");
	check_fit("cc -c a.c", 7, LABEL_TEXT, "cc -c " DOTS);
	check_fit(name, 16, LABEL_TEXT, "std::vector<int" DOTS);
	check_fit("\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac", 3, LABEL_SHORT,
		"\xe2\x82\xac\xe2\x82\xac" DOTS);
	check_fit("", 10, LABEL_SHORT, "");
}

/*
 * Call @check for each line of a table of test cases. The test of the viewer reads the same table.
 */
static void check_table(const char *table, unsigned columns, void (*check)(char **columns))
{
	char path[4096], line[512], *column[5];
	FILE *in;
	unsigned cases = 0;

	snprintf(path, sizeof(path), "%.*stests/%s.tsv",
		(int)(sizeof(__FILE__) - sizeof("tests/unit/test-label.c")), __FILE__, table);
	in = fopen(path, "re");
	assert_non_null(in);
	while (fgets(line, sizeof(line), in)) {
		char *rest = line;

		if (line[0] == '#')
			continue;
		for (unsigned i = 0; i < columns; i++) {
			column[i] = strsep(&rest, "\t\n");
			assert_non_null(column[i]);
		}
		check(column);
		cases++;
	}
	fclose(in);
	assert_true(cases > 30);
}

static void check_short(char **column)
{
	char shorter[LABEL_SHORT_BYTES(512)];

	label_short(shorter, column[0]);
	assert_string_equal(shorter, column[1]);
}

static void test_short_names(void **state)
{
	(void)state;
	check_table("labels", 2, check_short);
}

static const char *unless_nothing(const char *text)
{
	return strcmp(text, "-") ? text : NULL;
}

static void check_fitted(char **column)
{
	const char *const beside[2] = {unless_nothing(column[1]), unless_nothing(column[2])};
	char fitted[LABEL_BYTES];
	size_t length = label_fit(fitted, column[0], beside, atoi(column[3]), &cells, LABEL_SHORT);

	assert_int_equal(length, unless_nothing(column[4]) ? strlen(column[4]) : 0);
	if (length)
		assert_string_equal(fitted, column[4]);
}

static void test_fit_keeps_what_tells_most(void **state)
{
	(void)state;
	check_table("fitted", 5, check_fitted);
}

static void test_fit_survives_length(void **state)
{
	char *name = malloc(10001), fitted[LABEL_BYTES];

	(void)state;
	assert_non_null(name);
	memset(name, 'x', 10000);
	name[10000] = '\0';
	assert_in_range(label_fit(fitted, name, NULL, 1e9, &cells, LABEL_WHOLE), LABEL_BYTES - 8,
		LABEL_BYTES - 1);
	/*
	 * Names that become longest when they are shortened, because each bracket is replaced, and
	 * names with brackets that are never closed.
	 */
	for (unsigned i = 0; i < 10000; i++)
		name[i] = i % 3 == 0 ? 'a' : i % 3 == 1 ? '<' : '>';
	assert_true(label_fit(fitted, name, NULL, 100, &cells, LABEL_WHOLE) <= 102 + 2 * 100);
	for (unsigned i = 0; i < 10000; i++)
		name[i] = i % 2 ? '<' : 'a';
	assert_true(label_fit(fitted, name, NULL, 100, &cells, LABEL_WHOLE) > 0);
	free(name);
}

/* ---- count text ------------------------------------------------------------------------------ */

static void counts_have_commas(void **state)
{
	char text[32];

	(void)state;
	count_text(text, sizeof(text), 0);
	assert_string_equal(text, "0");
	count_text(text, sizeof(text), 999);
	assert_string_equal(text, "999");
	count_text(text, sizeof(text), 1000);
	assert_string_equal(text, "1,000");
	count_text(text, sizeof(text), 1234567);
	assert_string_equal(text, "1,234,567");
	count_text(text, sizeof(text), UINT64_MAX);
	assert_string_equal(text, "18,446,744,073,709,551,615");
}

static void what_has_no_room_is_cut(void **state)
{
	char text[32];

	(void)state;
	for (size_t bytes = 1; bytes < 10; bytes++) {
		memset(text, 'x', sizeof(text));
		count_text(text, bytes, 1234567);
		assert_true(strlen(text) < bytes);
		assert_memory_equal(text, "1,234,567", strlen(text));
		assert_int_equal(text[bytes], 'x');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean_replaces_what_is_no_utf8),
		cmocka_unit_test(test_clean_cuts_between_code_points),
		cmocka_unit_test(test_fit_prefers_the_whole_then_the_short_then_a_cut),
		cmocka_unit_test(test_short_names),
		cmocka_unit_test(test_fit_keeps_what_tells_most),
		cmocka_unit_test(test_fit_survives_length),
		cmocka_unit_test(counts_have_commas),
		cmocka_unit_test(what_has_no_room_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
