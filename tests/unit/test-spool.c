/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Profiles are read from the spool folder unchanged, and only for the store for which they were
 * written. Truncated files are never read.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/store/spool.h"
#include "tests/unit/own-folder.h"

static const struct store_address here = {.hosts = 1, .host = {"db:8123"}, .database = "one"};
static const struct store_address elsewhere = {.hosts = 1, .host = {"db:8123"}, .database = "two"};

/* Make a profile in which all numbers differ and need all their bytes. */
static void make_profile(struct store_profile *profile)
{
	*profile = (struct store_profile){.id = "0123456789abcdef0123456789abcdef",
		.label = {"service", "version", "host", "cpu"},
		.title = "a title",
		.count_name = "samples",
		.start_s = 0x65432101,
		.span_ns = 0x1122334455667788,
		.period_ns = 0x2233445566778899,
		.weight = 0x33445566778899aa,
		.weight_rows = 2};
	rows_put_uint(&profile->frames, 0x445566778899aabb, 8);
	rows_put_uint(&profile->frames, 1, 1);
	rows_put_uint(&profile->frames, 17, 4);
	rows_put_text(&profile->frames, "main");
	rows_put_text(&profile->frames, "a.out");
	rows_put_text(&profile->frames, "main.c");
	for (uint64_t i = 0; i < 3; i++)
		rows_put_uint(&profile->stacks, 0x5566778899aabbcc + i, 8);
	for (uint64_t i = 0; i < 4; i++)
		rows_put_uint(&profile->weights, 0x66778899 + i, 8);
}

static void assert_bytes(const struct bytes *got, const struct bytes *want)
{
	assert_int_equal(got->used, want->used);
	assert_memory_equal(got->data, want->data, want->used);
}

static int check_and_count(struct store_profile *got, void *context)
{
	struct store_profile want;

	make_profile(&want);
	assert_string_equal(got->id, want.id);
	for (int i = 0; i < STORE_LABELS; i++)
		assert_string_equal(got->label[i], want.label[i]);
	assert_string_equal(got->title, want.title);
	assert_string_equal(got->count_name, want.count_name);
	assert_int_equal(got->start_s, want.start_s);
	assert_int_equal(got->span_ns, want.span_ns);
	assert_int_equal(got->period_ns, want.period_ns);
	assert_int_equal(got->weight, want.weight);
	assert_int_equal(got->weight_rows, want.weight_rows);
	assert_bytes(&got->frames, &want.frames);
	assert_bytes(&got->stacks, &want.stacks);
	assert_bytes(&got->weights, &want.weights);
	spool_remove(got->spooled);
	store_profile_release(&want);
	++*(int *)context;
	return 0;
}

static void what_comes_out_is_what_went_in(void **state)
{
	struct diag_message message;
	struct store_profile profile;
	unsigned dropped = 0;
	int count = 0;

	setenv("XDG_STATE_HOME", *state, 1);
	make_profile(&profile);
	assert_int_equal(spool_put(&here, &profile, &dropped, &message), 0);
	store_profile_release(&profile);
	assert_int_equal(spool_each(&elsewhere, check_and_count, &count), 0);
	assert_int_equal(count, 0);
	assert_int_equal(spool_each(&here, check_and_count, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(spool_each(&here, check_and_count, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(dropped, 0);
}

static void no_part_of_one_is_one(void **state)
{
	struct bytes whole = {0};
	struct store_profile profile;

	(void)state;
	make_profile(&profile);
	store_profile_write(&profile, &whole);
	store_profile_release(&profile);
	for (size_t used = 0; used < whole.used; used++) {
		struct bytes part = {.data = whole.data, .used = used};

		assert_int_equal(store_profile_read(&profile, &part), -EBADMSG);
		store_profile_release(&profile);
	}
	bytes_release(&whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			what_comes_out_is_what_went_in, own_folder_enter, own_folder_leave),
		cmocka_unit_test(no_part_of_one_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
