/* SPDX-License-Identifier: MIT */
/*
 * Test the table in which a process reports functions of its language runtimes: where entries are
 * put and how they are found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

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

/* Enter @count functions. Returns the number of memory pages in which their entries begin. */
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

/*
 * The entries of 500 functions must be in few pages. At random positions they would be in more than
 * 300.
 */
static void test_few_are_in_few_pages(void **state)
{
	(void)state;
	assert_true(count_pages(500) < 32);
	assert_int_equal(function_count, 500);
}

/* Each function of a large program is found again with its own number. */
static void test_many_are_found_again(void **state)
{
	const unsigned count = FUNCTIONS_MAX / 4;

	(void)state;
	count_pages(count);
	count_pages(count);
	assert_int_equal(function_count, count);
	for (unsigned i = 0; i < count; i++) {
		struct function_entry *entry = find_function(identity_of(i));
		uint64_t number = (space_of(entry) & ~WIRE_LANGUAGE_BIT) / WIRE_LANGUAGE_LINES;

		assert_int_equal(entry->identity, identity_of(i));
		assert_true(number && entry == &functions[number - 1]);
	}
}

/*
 * Looking up a known function only reads its entry. A write would make the kernel copy the page
 * after fork().
 */
static void test_a_known_one_is_not_written(void **state)
{
	uintptr_t first = ((uintptr_t)functions | (PAGE_BYTES - 1)) + 1;
	size_t bytes = sizeof(functions) / 2 & ~(size_t)(PAGE_BYTES - 1);
	static const struct runtime_kind kind = {.name = "made up"};
	static const struct runtime runtime = {.kind = &kind};
	struct runtime_walk runs = {.runtime = &runtime};
	struct runtime_frame frame = {.identity = FUNCTIONS_FEW / 2, .line = 12};
	struct function_entry *entry = find_function(frame.identity);

	(void)state;
	sampler.image = entry->published = 5;
	entry->first_line = 10;
	assert_int_equal(mprotect((void *)first, bytes, PROT_READ), 0);
	assert_int_equal(word_of(&runs, &frame), wire_language_frame(space_of(entry), 10, 12));
	assert_int_equal(mprotect((void *)first, bytes, PROT_READ | PROT_WRITE), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_few_are_in_few_pages, set_up),
		cmocka_unit_test_setup(test_many_are_found_again, set_up),
		cmocka_unit_test_setup(test_a_known_one_is_not_written, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
