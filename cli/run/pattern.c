/* SPDX-License-Identifier: MIT */
/*
 * What the gaps of output names mean to a run, and what is said of those that mean nothing.
 */
#include "cli/run/pattern.h"

#include <errno.h>
#include <string.h>

#include "libprof/gaps.h"

static int refuse_gap(int error, const char *pattern, const char *at, struct diag_message *message)
{
	if (error == -ENAMETOOLONG)
		return diag_fail(message, error, "cannot write '%.64s...': %s", pattern,
			strerror(ENAMETOOLONG));
	if (error == -ENOENT)
		return diag_fail(message, error, "'%.*s' is not set in the environment",
			(int)strcspn(at + 1, "}"), at + 1);
	if (*at == '{')
		return diag_fail(message, error, "'%%{%.64s' names no variable", at + 1);
	diag_fail(message, error, "'%%%.1s' means nothing in the name of an output", at);
	diag_fail_hint(message, "%%p %%h %%t %%{VAR} are filled in, %%%% is a percent sign");
	return error;
}

int pattern_fill(char out[PATH_MAX], const char *pattern, const struct pattern_values *values,
	struct diag_message *message)
{
	const struct gaps_values gaps = {.pid = values->child, .started_s = values->started_s};
	const char *last = strrchr(pattern, '/');
	const char *pid = gaps_find_pid(pattern);
	char text[PATH_MAX];
	const char *at;
	int error;

	if (pid && !values->has_child)
		return diag_fail(message, -EINVAL, "there is no program, and no pid for %%p");
	/* The folder could not be proven writable before there is a pid. */
	if (pid && last && pid < last)
		return diag_fail(message, -EINVAL, "'%s': %%p can stand in the file's name only",
			pattern);
	tzset(); /* localtime_r() need not look at TZ */
	error = gaps_fill(text, sizeof(text), pattern, &gaps, &at);
	if (error)
		return refuse_gap(error, pattern, at, message);
	strcpy(out, text);
	return 0;
}

bool pattern_has_child(const char *pattern)
{
	return gaps_find_pid(pattern) != NULL;
}
