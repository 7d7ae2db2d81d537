/* SPDX-License-Identifier: MIT */
/* The books: what images used before they could be sampled, and what was left out on purpose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/profile/accounting.h"

#define MS 1000000ull

/* An exec'd image and its fork child, which used 100 ms and 10 ms before they were sampled. */
static struct profile *make(void)
{
	struct profile *profile = profile_new(1000);
	uint32_t first = profile_image(profile, 1), second = profile_image(profile, 2);

	profile_image_at(profile, first)->pid = 10;
	profile_image_at(profile, first)->start_cpu_ns = 100 * MS;
	profile_image_at(profile, second)->pid = 11;
	profile_image_at(profile, second)->parent = 1;
	profile_image_at(profile, second)->start_cpu_ns = 10 * MS;
	profile_totals(profile)->cpu_ns = 500 * MS;
	return profile;
}

static struct accounting settle(struct profile *profile, enum accounting_start start)
{
	struct accounting books;

	assert_int_equal(accounting_settle(profile, start), 0);
	accounting_of(profile, &books);
	return books;
}

static void test_a_start_is_credited(void **state)
{
	struct profile *profile = make();
	struct accounting books = settle(profile, ACCOUNTING_START_CREDITED);

	(void)state;
	assert_int_equal(books.due, 500);
	assert_int_equal(books.credited, 110);
	assert_int_equal(books.paused, 0);
	assert_int_equal(accounting_total(&books), 110);
	profile_free(profile);
}

/* A fork child goes on as its parent was: only what is exec'd starts paused. */
static void test_a_paused_start_is_left_out(void **state)
{
	struct profile *profile = make();
	struct accounting books;

	(void)state;
	profile_totals(profile)->paused = 7;
	books = settle(profile, ACCOUNTING_START_PAUSED);
	assert_int_equal(books.credited, 10);
	assert_int_equal(books.paused, 107);
	assert_int_equal(accounting_total(&books), 117);
	profile_free(profile);
}

static void test_no_start_by_another_clock(void **state)
{
	struct profile *profile = make();
	struct accounting books = settle(profile, ACCOUNTING_START_IGNORED);

	(void)state;
	assert_int_equal(accounting_total(&books), 0);
	profile_free(profile);
}

/* What the process had used under its image before counts for that one. */
static void test_an_exec_is_followed(void **state)
{
	struct profile *profile = make();
	uint32_t first = profile_image(profile, 1), third = profile_image(profile, 3);
	struct accounting books;

	(void)state;
	profile_image_at(profile, first)->left_by_exec = 1;
	profile_image_at(profile, first)->end_cpu_ns = 300 * MS;
	profile_image_at(profile, third)->pid = 10;
	profile_image_at(profile, third)->start_ns = 5;
	profile_image_at(profile, third)->start_cpu_ns = 320 * MS;
	books = settle(profile, ACCOUNTING_START_CREDITED);
	assert_int_equal(books.credited, 130);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_start_is_credited),
		cmocka_unit_test(test_a_paused_start_is_left_out),
		cmocka_unit_test(test_no_start_by_another_clock),
		cmocka_unit_test(test_an_exec_is_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
