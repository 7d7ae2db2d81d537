/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Several attempts to store one profile may be on several servers. Choose one attempt per profile.
 * Refuse damaged rows.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/store/picks.h"
#include "cli/store/store_profile.h"
#include "cli/store/rows.h"

static struct bytes answer;
static struct picks picks;
static struct diag_message message;

static int end(void **unused)
{
	(void)unused;
	bytes_release(&answer);
	picks_release(&picks);
	message = (struct diag_message){{0}, {0}};
	return 0;
}

static void put_row(
	unsigned id, uint32_t attempt, uint32_t committed_s, uint64_t period_ns, const char *unit)
{
	char text[STORE_ID_BYTES];

	snprintf(text, sizeof(text), "%032x", id);
	rows_put_text(&answer, text);
	rows_put_uint(&answer, attempt, 4);
	rows_put_uint(&answer, committed_s, 4);
	rows_put_uint(&answer, 20000, 2);
	rows_put_uint(&answer, 20000 * 86400u, 4);
	rows_put_uint(&answer, 1000, 8);
	rows_put_uint(&answer, period_ns, 8);
	rows_put_uint(&answer, 10 + attempt, 8);
	rows_put_text(&answer, "api");
	rows_put_text(&answer, "host1");
	rows_put_text(&answer, unit);
	rows_put_text(&answer, "samples");
	rows_put_text(&answer, "a title");
}

static int take(uint32_t server)
{
	int error = picks_add(&picks, server, &answer, &message);

	answer.used = 0;
	return error;
}

/*
 * The attempt that was committed first is chosen. If times are equal, the attempt of the first
 * server is chosen, then the one with the lowest number.
 */
static void the_first_committed_counts(void **unused)
{
	static const struct store_server servers[] = {{.same_as = 0}, {.same_as = 1}};

	(void)unused;
	put_row(1, 11, 200, 1, "cpu");
	put_row(2, 12, 100, 1, "cpu");
	put_row(3, 19, 100, 1, "cpu");
	put_row(3, 13, 100, 1, "cpu");
	assert_int_equal(take(0), 0);
	put_row(1, 21, 100, 1, "cpu");
	put_row(2, 22, 100, 1, "cpu");
	put_row(4, 24, 900, 1, "cpu");
	put_row(4, 24, 900, 1, "cpu");
	assert_int_equal(take(1), 0);
	picks_choose(&picks, servers);
	assert_int_equal(picks.count, 4);
	for (unsigned i = 0; i < 4; i++) {
		static const uint32_t attempts[] = {21, 12, 13, 24}, of[] = {1, 0, 0, 1};

		assert_int_equal(picks.at[i].id[1], i + 1);
		assert_int_equal(picks.at[i].attempt, attempts[i]);
		assert_int_equal(picks.at[i].server, of[i]);
		assert_int_equal(picks.at[i].weight, 10 + attempts[i]);
	}
}

/*
 * A server that is listed for both sides of a comparison gives a profile for each side. Both
 * profiles refer to the server's first entry.
 */
static void each_side_has_its_own(void **unused)
{
	static const struct store_server servers[] = {
		{.same_as = 0}, {.same_as = 0, .side = 1}, {.same_as = 0, .side = 1}};

	(void)unused;
	for (uint32_t server = 0; server < 3; server++) {
		put_row(1, 11, 100, 1, "cpu");
		assert_int_equal(take(server), 0);
	}
	picks_choose(&picks, servers);
	assert_int_equal(picks.count, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(picks.at[i].side, i);
		assert_int_equal(picks.at[i].server, 0);
	}
}

static void nothing_is_chosen_of_nothing(void **unused)
{
	(void)unused;
	assert_int_equal(take(0), 0);
	picks_choose(&picks, NULL);
	assert_int_equal(picks.count, 0);
}

static void units_are_not_mixed(void **unused)
{
	(void)unused;
	put_row(1, 11, 100, 1, "cpu");
	put_row(2, 12, 100, 5000000, "cpu");
	assert_int_equal(take(0), 0);
	assert_true(picks.is_time);
	put_row(3, 13, 100, 1, "wall");
	assert_int_equal(take(0), -EINVAL);
	assert_non_null(strstr(message.hint, "&unit=wall"));
	put_row(3, 13, 100, 0, "cpu"); /* same name, but not a time */
	assert_int_equal(take(0), -EINVAL);
	assert_int_equal(picks.count, 2);
}

static void rows_that_are_none(void **unused)
{
	size_t whole;

	(void)unused;
	put_row(1, 11, 100, 1, "cpu");
	whole = answer.used;
	for (size_t bytes = 1; bytes < whole; bytes++) {
		answer.used = bytes;
		assert_int_equal(picks_add(&picks, 0, &answer, &message), -EPROTO);
	}
	answer.used = 0;
	rows_put_text(&answer, "0123456789abcdef"); /* half an id; the row is long enough */
	for (unsigned i = 0; i < 200; i++)
		rows_put_uint(&answer, 0, 1);
	assert_int_equal(take(0), -EPROTO);
	assert_int_equal(picks.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_first_committed_counts, end),
		cmocka_unit_test_teardown(each_side_has_its_own, end),
		cmocka_unit_test_teardown(nothing_is_chosen_of_nothing, end),
		cmocka_unit_test_teardown(units_are_not_mixed, end),
		cmocka_unit_test_teardown(rows_that_are_none, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
