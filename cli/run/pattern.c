/* SPDX-License-Identifier: MIT */
/*
 * Gaps of output names, filled one at a time.
 */
#include "cli/run/pattern.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VARIABLE_BYTES 256
#define TIME_FORMAT    "%Y%m%d-%H%M%S"

struct name {
	char *text; /* PATH_MAX bytes */
	size_t bytes;
	bool is_too_long;
};

static void put(struct name *name, char byte)
{
	if (name->bytes + 1 < PATH_MAX)
		name->text[name->bytes++] = byte;
	else
		name->is_too_long = true;
}

/* "../x" as the value of a variable must stay a part of one name, and no hidden one. */
static void put_value(struct name *name, const char *value)
{
	bool begins = !name->bytes || name->text[name->bytes - 1] == '/';

	for (; *value; value++, begins = false)
		put(name, *value == '/' || (begins && *value == '.') ? '_' : *value);
}

static int put_child(
	struct name *name, const struct pattern_values *values, struct diag_message *message)
{
	char digits[24];

	if (!values->has_child)
		return diag_fail(message, -EINVAL, "there is no program, and no pid for %%p");
	if (!values->child) {
		put(name, '%');
		put(name, 'p');
		return 0;
	}
	snprintf(digits, sizeof(digits), "%ld", (long)values->child);
	put_value(name, digits);
	return 0;
}

static void put_host(struct name *name)
{
	char host[HOST_NAME_MAX + 1] = "";

	if (gethostname(host, sizeof(host) - 1) || !host[0])
		strcpy(host, "localhost");
	put_value(name, host);
}

static void put_time(struct name *name, time_t started_s)
{
	struct tm local;
	char text[64] = "";

	tzset(); /* localtime_r() need not look at TZ */
	if (localtime_r(&started_s, &local))
		strftime(text, sizeof(text), TIME_FORMAT, &local);
	put_value(name, text);
}

/* @at is behind "%{". Returns how much of it belongs to the gap, or -errno. */
static int put_variable(struct name *name, const char *at, struct diag_message *message)
{
	char variable[VARIABLE_BYTES];
	size_t bytes = strcspn(at, "}");
	const char *value;

	if (!at[bytes] || !bytes || bytes >= sizeof(variable))
		return diag_fail(message, -EINVAL, "'%%{%.64s' names no variable", at);
	memcpy(variable, at, bytes);
	variable[bytes] = '\0';
	value = getenv(variable);
	if (!value)
		return diag_fail(message, -ENOENT, "'%s' is not set in the environment", variable);
	put_value(name, value);
	return (int)bytes + 1;
}

/* @at is behind '%'. Returns how much of it belongs to the gap, or -errno. */
static int put_gap(struct name *name, const char *at, const struct pattern_values *values,
	struct diag_message *message)
{
	int used;

	switch (*at) {
	case 'p':
		used = put_child(name, values, message);
		return used ? used : 1;
	case 'h':
		put_host(name);
		return 1;
	case 't':
		put_time(name, values->started_s);
		return 1;
	case '{':
		used = put_variable(name, at + 1, message);
		return used < 0 ? used : used + 1;
	case '%':
		put(name, '%');
		return 1;
	default:
		diag_fail(message, -EINVAL, "'%%%.1s' means nothing in the name of an output", at);
		diag_fail_hint(message,
			"%%p %%h %%t %%{VAR} are filled in, %%%% is a percent sign");
		return -EINVAL;
	}
}

int pattern_fill(char out[PATH_MAX], const char *pattern, const struct pattern_values *values,
	struct diag_message *message)
{
	char text[PATH_MAX];
	struct name name = {.text = text};
	const char *last = strrchr(pattern, '/');

	for (const char *at = pattern; *at; at++) {
		int used;

		if (*at != '%') {
			put(&name, *at);
			continue;
		}
		/* The folder could not be proven writable before there is a pid. */
		if (at[1] == 'p' && values->has_child && last && at < last)
			return diag_fail(message, -EINVAL,
				"'%s': %%p can stand in the file's name only", pattern);
		used = put_gap(&name, at + 1, values, message);
		if (used < 0)
			return used;
		at += used;
	}
	if (name.is_too_long)
		return diag_fail(message, -ENAMETOOLONG, "cannot write '%.64s...': %s", pattern,
			strerror(ENAMETOOLONG));
	memcpy(out, text, name.bytes);
	out[name.bytes] = '\0';
	return 0;
}

bool pattern_has_child(const char *pattern)
{
	for (; *pattern; pattern++) {
		if (*pattern != '%')
			continue;
		if (*++pattern == 'p')
			return true;
		if (!*pattern)
			return false;
		if (*pattern == '{')
			pattern += strcspn(pattern, "}");
		if (!*pattern)
			return false;
	}
	return false;
}
