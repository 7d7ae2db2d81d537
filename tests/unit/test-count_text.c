/* SPDX-License-Identifier: MIT */
/* Large numbers with commas, and in too little room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "render/count_text.h"

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
		cmocka_unit_test(counts_have_commas),
		cmocka_unit_test(what_has_no_room_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
