/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* Replace the placeholders (%p, %h, %t, %{NAME}) in the name of an output file. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/run/results.h"

static char filled[PATH_MAX];
static struct diag_message message;
/* 2001-09-09 01:46:40 UTC */
static const struct pattern_values run = {
	.child = 4711, .has_child = true, .started_s = 1000000000};
static const struct pattern_values before = {.has_child = true, .started_s = 1000000000};
static const struct pattern_values render = {.started_s = 1000000000};

static int begin(void **state)
{
	(void)state;
	memset(&message, 0, sizeof(message));
	strcpy(filled, "untouched");
	setenv("TZ", "UTC0", 1);
	setenv("NAME", "value", 1);
	unsetenv("NONE");
	return 0;
}

static void becomes(const char *pattern, const struct pattern_values *values, const char *name)
{
	assert_int_equal(pattern_fill(filled, pattern, values, &message), 0);
	assert_string_equal(filled, name);
}

static void refused(const char *pattern, const struct pattern_values *values, int error,
	const char *about)
{
	strcpy(filled, "untouched");
	assert_int_equal(pattern_fill(filled, pattern, values, &message), error);
	assert_string_equal(filled, "untouched");
	assert_non_null(strstr(message.text, about));
}

static void each_gap_is_filled(void **state)
{
	char host[HOST_NAME_MAX + 1] = "", name[HOST_NAME_MAX + 16];

	(void)state;
	becomes("plain.svg", &run, "plain.svg");
	becomes("", &run, "");
	becomes("a-%p.svg", &run, "a-4711.svg");
	becomes("%p%p", &run, "47114711");
	becomes("dir/%t.svg", &run, "dir/20010909-014640.svg");
	becomes("%{NAME}-%{NAME}.svg", &run, "value-value.svg");
	becomes("100%%.svg", &run, "100%.svg");
	becomes("%%p%%%p", &run, "%p%4711");
	assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
	strcpy(name, host);
	becomes("%h", &run, name);
}

static void the_time_is_local(void **state)
{
	(void)state;
	setenv("TZ", "ZONE-3", 1);
	becomes("%t", &run, "20010909-044640");
}

static void the_pid_waits_for_the_program(void **state)
{
	(void)state;
	becomes("x/a-%p-%{NAME}.svg", &before, "x/a-%p-value.svg");
	refused("a-%p.svg", &render, -EINVAL, "%p");
	refused("%p/a.svg", &before, -EINVAL, "file's name only");
	refused("x/%p-%p/a.svg", &run, -EINVAL, "file's name only");
	becomes("x/%p", &run, "x/4711");
}

static void values_stay_in_their_name(void **state)
{
	(void)state;
	setenv("NAME", "../../etc/passwd", 1);
	becomes("out/%{NAME}.svg", &run, "out/_._.._etc_passwd.svg");
	becomes("%{NAME}", &run, "_._.._etc_passwd");
	becomes("a%{NAME}", &run, "a.._.._etc_passwd");
	setenv("NAME", "/abs/x", 1);
	becomes("%{NAME}.svg", &run, "_abs_x.svg");
	setenv("NAME", "%p%{HOME}", 1);
	becomes("%{NAME}.svg", &run, "%p%{HOME}.svg");
	setenv("NAME", "", 1);
	becomes("a%{NAME}b", &run, "ab");
}

static void what_is_no_gap_is_refused(void **state)
{
	(void)state;
	refused("a%", &run, -EINVAL, "'%'");
	refused("a%q.svg", &run, -EINVAL, "'%q'");
	assert_non_null(strstr(message.hint, "%% is a percent sign"));
	refused("a%{", &run, -EINVAL, "names no variable");
	refused("a%{}", &run, -EINVAL, "names no variable");
	refused("a%{NAME", &run, -EINVAL, "names no variable");
	refused("a%{NONE}.svg", &run, -ENOENT, "'NONE' is not set");
}

static void long_names_are_refused(void **state)
{
	static char value[PATH_MAX + 8], variable[400];

	(void)state;
	memset(value, 'v', PATH_MAX - 1);
	becomes(value, &run, value);
	memset(value, 'v', PATH_MAX);
	refused(value, &run, -ENAMETOOLONG, "too long");
	value[PATH_MAX - 2] = '\0';
	setenv("NAME", value, 1);
	becomes("%{NAME}x", &run, strcat(value, "x"));
	refused("%{NAME}xy", &run, -ENAMETOOLONG, "too long");
	memset(variable, 'N', sizeof(variable) - 2);
	memcpy(variable, "%{", 2);
	variable[sizeof(variable) - 2] = '}';
	refused(variable, &run, -EINVAL, "names no variable");
}

static void names_that_depend_on_the_pid(void **state)
{
	(void)state;
	assert_true(pattern_has_child("%p"));
	assert_true(pattern_has_child("a/b-%h%%%p.svg"));
	assert_true(pattern_has_child("%{X}%p"));
	assert_false(pattern_has_child("a%%p.svg"));
	assert_false(pattern_has_child("%{%p}"));
	assert_false(pattern_has_child("%{%p"));
	assert_false(pattern_has_child("p%"));
	assert_false(pattern_has_child(""));
}

#define TEST(test) cmocka_unit_test_setup(test, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_gap_is_filled),
		TEST(the_time_is_local),
		TEST(the_pid_waits_for_the_program),
		TEST(values_stay_in_their_name),
		TEST(what_is_no_gap_is_refused),
		TEST(long_names_are_refused),
		TEST(names_that_depend_on_the_pid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
