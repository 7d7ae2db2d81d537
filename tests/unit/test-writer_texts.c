/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* Equal texts have one index in the table, and indices do not change while the table grows. */
#include "libprof/pprof/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static uint32_t number_of(struct texts *texts, const char *head, const char *tail, size_t bytes)
{
	uint32_t number = UINT32_MAX;

	assert_int_equal(texts_add(texts, head, tail, bytes, &number), 0);
	return number;
}

static void equal_ones_are_one(void **state)
{
	struct texts texts = {.count = 0};

	(void)state;
	assert_int_equal(number_of(&texts, "", "", SIZE_MAX), 0);
	assert_int_equal(number_of(&texts, "", "abcd", SIZE_MAX), 1);
	assert_int_equal(number_of(&texts, "ab", "cd", SIZE_MAX), 1);
	assert_int_equal(number_of(&texts, "abc", "defg", 1), 1);
	assert_int_equal(number_of(&texts, "abcd", "efg", 0), 1);
	assert_int_equal(number_of(&texts, "ab", "c", SIZE_MAX), 2);
	assert_int_equal(number_of(&texts, "", "abcde", SIZE_MAX), 3);
	assert_int_equal(texts.count, 4);
	texts_release(&texts);
	assert_int_equal(pages_mapped_bytes, 0);
}

static void numbers_stay_while_the_table_grows(void **state)
{
	struct texts texts = {.count = 0};
	char text[16];

	(void)state;
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < 200000; i++) {
			snprintf(text, sizeof(text), "%u", i);
			assert_int_equal(number_of(&texts, "n", text, SIZE_MAX), i);
			assert_string_equal(texts_at(&texts, i) + 1, text);
		}
	texts_release(&texts);
	assert_int_equal(pages_mapped_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_ones_are_one),
		cmocka_unit_test(numbers_stay_while_the_table_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
