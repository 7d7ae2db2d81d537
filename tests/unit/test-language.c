/* SPDX-License-Identifier: MIT */
/* The table of functions that a process has told of: where they lie, and that each is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "libprof/sampler/language.c"

#define PAGE_BYTES 4096u

static int set_up(void **state)
{
	(void)state;
	memset(functions, 0, sizeof(functions));
	function_count = 0;
	return 0;
}

static uint64_t identity_of(unsigned number)
{
	return runtime_mix(runtime_mix(1, number), number) | 1;
}

/* In how many pages the entries of @count functions begin. */
static unsigned count_pages(unsigned count)
{
	static uint8_t touched[sizeof(functions) / PAGE_BYTES + 2];
	unsigned pages = 0;

	memset(touched, 0, sizeof(touched));
	for (unsigned i = 0; i < count; i++) {
		struct function_entry *entry = find_function(identity_of(i));

		assert_non_null(entry);
		touched[((uintptr_t)entry - (uintptr_t)functions) / PAGE_BYTES] = 1;
	}
	for (unsigned i = 0; i < sizeof(touched); i++)
		pages += touched[i];
	return pages;
}

/* All of them in other places at random would be in more than 300. */
static void test_few_are_in_few_pages(void **state)
{
	(void)state;
	assert_true(count_pages(500) < 32);
	assert_int_equal(function_count, 500);
}

/* Those of a large program: each is found again, under a number of its own. */
static void test_many_are_found_again(void **state)
{
	const unsigned count = FUNCTIONS_MAX / 4;

	(void)state;
	count_pages(count);
	count_pages(count);
	assert_int_equal(function_count, count);
	for (unsigned i = 0; i < count; i++) {
		struct function_entry *entry = find_function(identity_of(i));

		assert_int_equal(entry->space, 0);
		space_of(entry);
		assert_int_equal(entry->identity, identity_of(i));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_few_are_in_few_pages, set_up),
		cmocka_unit_test_setup(test_many_are_found_again, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
