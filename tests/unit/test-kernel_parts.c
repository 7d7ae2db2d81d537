/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Kernel stacks that were recorded on a user stack share the samples of this user stack; other user
 * stacks get none of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cli/profile/kernel_parts.h"

static void test_in_proportion(void **state)
{
	static const uint64_t weights[] = {1, 2, 5, 1000, 3};
	enum { LOOKS = sizeof(weights) / sizeof(*weights), SAMPLES = 10110 };
	struct kernel_parts *parts = kernel_parts_new();
	unsigned taken[LOOKS] = {0};

	(void)state;
	assert_non_null(parts);
	for (uint32_t i = 0; i < LOOKS; i++)
		assert_int_equal(kernel_parts_add(parts, 7, i, weights[i]), 0);
	kernel_parts_finish(parts);
	for (unsigned i = 0; i < SAMPLES; i++)
		taken[kernel_parts_next(parts, 7)]++;
	for (unsigned i = 0; i < LOOKS; i++)
		assert_in_range(taken[i] + 5, 10 * weights[i], 10 * weights[i] + 10);
	kernel_parts_free(parts);
}

static void test_of_its_stack_alone(void **state)
{
	struct kernel_parts *parts = kernel_parts_new();

	(void)state;
	assert_non_null(parts);
	assert_int_equal(kernel_parts_next(parts, 1), KERNEL_PARTS_NONE);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(kernel_parts_add(parts, 1000 - 10 * i, i, 1), 0);
	kernel_parts_finish(parts);
	for (uint32_t i = 0; i < 100; i++) {
		assert_int_equal(kernel_parts_next(parts, 1000 - 10 * i), i);
		assert_int_equal(kernel_parts_next(parts, 1000 - 10 * i), i);
		assert_int_equal(kernel_parts_next(parts, 1001 - 10 * i), KERNEL_PARTS_NONE);
	}
	kernel_parts_free(parts);
	kernel_parts_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_proportion),
		cmocka_unit_test(test_of_its_stack_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
