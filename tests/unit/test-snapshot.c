/* SPDX-License-Identifier: MIT */
/*
 * Test the values that the environment variable FLAMERUN_SNAPSHOT may have, and the messages about
 * other values.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "libprof/session/snapshot.h"

static struct snapshot_settings settings;
static char message[256];
static char name[PATH_MAX];

static int begin(void **state)
{
	(void)state;
	memset(&settings, 0x55, sizeof(settings));
	memset(message, 0, sizeof(message));
	setenv("TZ", "UTC0", 1);
	setenv("NAME", "value", 1);
	unsetenv("NONE");
	return chdir("/tmp");
}

static void reads(const char *text)
{
	int error = snapshot_settings_parse(&settings, text, message, sizeof(message));

	if (error)
		fail_msg("'%s': %s", text, message);
}

static void refuses(const char *text, int error, const char *about)
{
	memset(message, 0, sizeof(message));
	assert_int_equal(snapshot_settings_parse(&settings, text, message, sizeof(message)), error);
	if (!strstr(message, about))
		fail_msg("'%s': said '%s', not '%s'", text, message, about);
}

/* 2001-09-09 01:46:40 UTC */
static void is_called(const char *expected)
{
	assert_int_equal(snapshot_settings_name(name, &settings, 4711, 1000000000), 0);
	assert_string_equal(name, expected);
}

static void defaults_are_those_of_the_manual(void **state)
{
	static const char *const all[] = {"on", "1", "yes", "true"};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		reads(all[i]);
		assert_int_equal(settings.signal, SIGUSR2);
		assert_int_equal(settings.rate_hz, 97);
		assert_int_equal(settings.clock, FLAMEPROF_CLOCK_CPU);
		assert_int_equal(settings.duration_ns, 10000000000);
		is_called("/tmp/4711-20010909-014640.svg");
	}
}

static void some_words_mean_off(void **state)
{
	static const char *const none[] = {"", "off", "0", "no", "false"};

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		reads(none[i]);
		assert_int_equal(settings.signal, 0);
	}
}

static void every_key_is_read(void **state)
{
	(void)state;
	reads("signal=USR1:duration=2.5:rate=10000:clock=elapsed:output=/x/a.svg");
	assert_int_equal(settings.signal, SIGUSR1);
	assert_int_equal(settings.duration_ns, 2500000000);
	assert_int_equal(settings.rate_hz, 10000);
	assert_int_equal(settings.clock, FLAMEPROF_CLOCK_ELAPSED);
	is_called("/x/a.svg");
	reads("output=b.svg:clock=cpu:rate=1:duration=86400:signal=SIGwinch:");
	assert_int_equal(settings.signal, SIGWINCH);
	assert_int_equal(settings.duration_ns, 86400000000000);
	is_called("/tmp/b.svg");
	reads("signal=12:duration=0.010000000");
	assert_int_equal(settings.signal, 12);
	assert_int_equal(settings.duration_ns, 10000000);
	reads("signal=rtmin+3");
	assert_int_equal(settings.signal, SIGRTMIN + 3);
	reads("rate=5:rate=6");
	assert_int_equal(settings.rate_hz, 6);
}

static void what_cannot_be_used_is_named(void **state)
{
	(void)state;
	refuses("sginal=USR2", -EINVAL, "'sginal' is none of signal, duration");
	refuses("USR2", -EINVAL, "'USR2' is not key=value");
	refuses("rate=97::output=x", -EINVAL, "'' is not key=value");
	refuses("signal=", -EINVAL, "signal: cannot use ''");
	refuses("signal=KILL", -EINVAL, "signal: cannot use 'KILL'");
	refuses("signal=STOP", -EINVAL, "cannot use");
	refuses("signal=SEGV", -EINVAL, "cannot use");
	refuses("signal=VTALRM", -EINVAL, "cannot use");
	refuses("signal=32", -EINVAL, "cannot use"); /* used by libc */
	refuses("signal=65", -EINVAL, "cannot use");
	refuses("signal=4294967308", -EINVAL, "cannot use");
	refuses("signal=-1", -EINVAL, "cannot use");
	refuses("signal=USR9", -EINVAL, "cannot use");
	refuses("clock=wall", -EINVAL, "clock: 'wall'");
}

static void numbers_have_bounds(void **state)
{
	static const char *const rates[] = {"0", "10001", "", "x", "9x", "-1", "1.5",
		"18446744073709551617"};
	static const char *const durations[] = {"0", "0.009", "86400.1", "86401", "", ".5", "1.",
		"1e3", "1s", "-1", "1.0000000001", "99999999999999999999"};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		snprintf(text, sizeof(text), "rate=%s", rates[i]);
		refuses(text, -EINVAL, "is not 1 to 10000");
	}
	for (size_t i = 0; i < sizeof(durations) / sizeof(*durations); i++) {
		snprintf(text, sizeof(text), "duration=%s", durations[i]);
		refuses(text, -EINVAL, "is not 0.01 to 86400 seconds");
	}
}

/* Placeholders in the value of a variable are not replaced again. */
static void placeholder_are_filled_once(void **state)
{
	char host[256] = "", expected[PATH_MAX];

	(void)state;
	assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
	reads("output=/x/%h-%p-%t-%{NAME}-%%p.svg");
	snprintf(expected, sizeof(expected), "/x/%s-4711-20010909-014640-value-%%p.svg", host);
	is_called(expected);
	setenv("NAME", "%{NAME}%p%t%%", 1);
	reads("output=/x/%{NAME}.svg");
	is_called("/x/%{NAME}%p%t%%.svg");
	setenv("NAME", "../../etc/passwd", 1);
	reads("output=/x/%{NAME}");
	is_called("/x/_._.._etc_passwd");
	refuses("output=%{NONE}", -ENOENT, "'NONE' is not set");
	refuses("output=%q.svg", -EINVAL, "'%q.svg' is none of %p");
	refuses("output=%{", -EINVAL, "none of");
	refuses("output=", -EINVAL, "no name");
	/*
	 * A placeholder's variable is read when the program starts, because it may have changed
	 * when the signal arrives.
	 */
	setenv("NAME", "then", 1);
	reads("output=/x/%{NAME}");
	setenv("NAME", "now", 1);
	is_called("/x/then");
}

static void a_folder_with_gaps_in_its_name_is_a_folder(void **state)
{
	char folder[] = "/tmp/%p-XXXXXX", expected[PATH_MAX];

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	reads("output=a-%p.svg");
	assert_int_equal(chdir("/"), 0);
	snprintf(expected, sizeof(expected), "%s/a-4711.svg", folder);
	is_called(expected);
	reads("output=a.svg");
	is_called("/a.svg");
	assert_int_equal(rmdir(folder), 0);
}

static void colons_can_be_escaped(void **state)
{
	(void)state;
	reads("output=/x/a\\:b\\c.svg:rate=5");
	is_called("/x/a:b\\c.svg");
	assert_int_equal(settings.rate_hz, 5);
	refuses("output=/x/a:b.svg", -EINVAL, "'b.svg' is not key=value");
}

static void long_texts_are_refused(void **state)
{
	static char text[PATH_MAX * 2];

	(void)state;
	memset(text, 'v', sizeof(text) - 1);
	memcpy(text, "output=/", 8);
	refuses(text, -ENAMETOOLONG, "too long");
	text[PATH_MAX - 1] = '\0'; /* the pair just fits */
	reads(text);
	assert_int_equal(snapshot_settings_name(name, &settings, 1, 0), 0);
	memcpy(text, "output=v", 8); /* a folder comes before it */
	assert_int_equal(chdir("/usr/share"), 0);
	reads(text);
	assert_int_equal(snapshot_settings_name(name, &settings, 1, 0), -ENAMETOOLONG);
}

static void messages_are_harmless(void **state)
{
	(void)state;
	refuses("a\033[2J\x80=1", -EINVAL, "'a?[2J?' is none");
	for (const char *at = message; *at; at++)
		assert_true(*at >= ' ' && *at < 0x7f);
}

static void signals_have_names(void **state)
{
	(void)state;
	snapshot_signal_name(message, SIGUSR2);
	assert_string_equal(message, "SIGUSR2");
	snapshot_signal_name(message, SIGRTMIN + 3);
	assert_string_equal(message, "signal 37");
}

#define TEST(test) cmocka_unit_test_setup(test, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(defaults_are_those_of_the_manual),
		TEST(some_words_mean_off),
		TEST(every_key_is_read),
		TEST(what_cannot_be_used_is_named),
		TEST(numbers_have_bounds),
		TEST(placeholder_are_filled_once),
		TEST(a_folder_with_gaps_in_its_name_is_a_folder),
		TEST(colons_can_be_escaped),
		TEST(long_texts_are_refused),
		TEST(messages_are_harmless),
		TEST(signals_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
