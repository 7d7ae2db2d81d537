/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Read the kernel's configuration, compressed or not, and refuse other files. Also the summary's
 * line about samples without an exact time.
 */
#include <errno.h>
#include <zlib.h>

#include "cli/kernel_config.h"
#include "cli/run/summary.h"
#include "tests/unit/own-folder.h"

#define OPTION "CONFIG_POSIX_CPU_TIMERS_TASK_WORK"

static int answer_to(const char *text, int is_compressed)
{
	gzFile out = gzopen("config", is_compressed ? "wb9" : "wbT");

	assert_non_null(out);
	assert_int_equal(gzputs(out, text), strlen(text));
	assert_int_equal(gzclose(out), Z_OK);
	return kernel_config_has("config", OPTION);
}

static void what_it_says(void **state)
{
	(void)state;
	for (int is_compressed = 0; is_compressed < 2; is_compressed++) {
		assert_int_equal(answer_to("CONFIG_HAVE_POSIX_CPU_TIMERS_TASK_WORK=y\n" OPTION
					   "=y\nCONFIG_HZ=250\n", is_compressed), 1);
		assert_int_equal(answer_to("CONFIG_HZ=250\n# " OPTION " is not set\n",
			is_compressed), 0);
		assert_int_equal(
			answer_to("CONFIG_HZ=250\nCONFIG_HAVE_POSIX_CPU_TIMERS_TASK_WORK=y\n",
				is_compressed),
			0);
		assert_int_equal(answer_to("CONFIG_HZ=250\n" OPTION "_TOO=y\n", is_compressed), 0);
	}
}

static void what_says_nothing(void **state)
{
	(void)state;
	assert_int_equal(kernel_config_has("none", OPTION), -ENOENT);
	assert_int_equal(kernel_config_has(".", OPTION), -ENOENT);
	assert_int_equal(answer_to("", 0), -ENOENT);
	assert_int_equal(answer_to("something else\n", 1), -ENOENT);
	assert_int_equal(answer_to("CONFIG_HZ=250\nCONFIG_X=y\n", 1), 0);
	assert_int_equal(truncate("config", 30), 0);
	assert_int_equal(kernel_config_has("config", OPTION), -ENOENT);
}

static void times_are_told_of_when_there_are_too_many(void **state)
{
	struct flameprof_profile profile = {.stretch_ns = 0};
	char text[SUMMARY_TIMES_BYTES];

	(void)state;
	summary_times(&profile, text, sizeof(text));
	assert_string_equal(text, "");
	profile.stretch_ns = 8000000;
	summary_times(&profile, text, sizeof(text));
	assert_string_equal(
		text, "times are known to 8 ms: there were too many samples to keep each");
	profile.totals.counts.untimed = 1;
	summary_times(&profile, text, sizeof(text));
	assert_string_equal(text, "1 sample has no time: there were too many to keep each");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, own_folder_enter, own_folder_leave)
	const struct CMUnitTest tests[] = {
		TEST(what_it_says),
		TEST(what_says_nothing),
		TEST(times_are_told_of_when_there_are_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
