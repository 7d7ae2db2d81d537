/* SPDX-License-Identifier: MIT */
/*
 * Expand placeholders in file names, for flamerun's outputs and the library's snapshots:
 *
 *	%p      pid
 *	%h      host name
 *	%t      local time as YYYYmmdd-HHMMSS
 *	%r      rank in a parallel program; 0 in others
 *	%{VAR}  environment variable
 *	%%      percent
 *
 * A pattern is read once from left to right; the inserted text is not expanded again.
 */
#ifndef LIBPROF_PLACEHOLDER_H
#define LIBPROF_PLACEHOLDER_H

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PLACEHOLDER_VARIABLE_BYTES 256
#define PLACEHOLDER_TIME_FORMAT	   "%Y%m%d-%H%M%S"

struct placeholder_values {
	long pid; /* 0: unknown, keep "%p" */
	/* Seconds since the epoch. The caller has called tzset(). */
	time_t started_s;
	/* 1: expand only host, rank and variables. The result is a pattern for a second call. */
	int is_first_half;
};

struct placeholder_name {
	char *text;
	size_t room, bytes;
	int is_first_half;
};

/* Append @byte. Bytes beyond `room` are counted but not written. */
static inline void placeholder_put(struct placeholder_name *name, char byte)
{
	if (name->bytes < name->room)
		name->text[name->bytes] = byte;
	name->bytes++;
}

/*
 * Append @value as a part of one file name. A '/' becomes '_', and so does a '.' at the beginning
 * of a name, because a variable must not lead to another folder or make a hidden file.
 */
static inline void placeholder_put_value(struct placeholder_name *name, const char *value)
{
	int begins = !name->bytes ||
		(name->bytes <= name->room && name->text[name->bytes - 1] == '/');

	for (; *value; value++, begins = 0) {
		placeholder_put(name, *value == '/' || (begins && *value == '.') ? '_' : *value);
		if (*value == '%' && name->is_first_half)
			placeholder_put(name, '%');
	}
}

static inline void placeholder_put_host(struct placeholder_name *name)
{
	char host[HOST_NAME_MAX + 1] = "";

	if (gethostname(host, sizeof(host) - 1) || !host[0])
		strcpy(host, "localhost");
	placeholder_put_value(name, host);
}

static inline void placeholder_put_time(struct placeholder_name *name, time_t started_s)
{
	struct tm local;
	char text[64] = "";

	if (localtime_r(&started_s, &local))
		strftime(text, sizeof(text), PLACEHOLDER_TIME_FORMAT, &local);
	placeholder_put_value(name, text);
}

/* Variables that MPI launchers and Slurm set. The first one that is set is used. */
static const char *const placeholder_ranks[] = {
	"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};

static inline void placeholder_put_rank(struct placeholder_name *name)
{
	const char *rank = NULL;

	for (size_t i = 0; !rank && i < sizeof(placeholder_ranks) / sizeof(char *); i++)
		rank = getenv(placeholder_ranks[i]);
	placeholder_put_value(name, rank ? rank : "0");
}

/*
 * Append the value of the variable whose name begins at @at, behind "%{". Returns the number of
 * bytes from @at to the "}" inclusive, or -errno.
 */
static inline int placeholder_put_variable(struct placeholder_name *name, const char *at)
{
	char variable[PLACEHOLDER_VARIABLE_BYTES];
	size_t bytes = strcspn(at, "}");
	const char *value;

	if (!at[bytes] || !bytes || bytes >= sizeof(variable))
		return -EINVAL;
	memcpy(variable, at, bytes);
	variable[bytes] = '\0';
	value = getenv(variable);
	if (!value)
		return -ENOENT;
	placeholder_put_value(name, value);
	return (int)bytes + 1;
}

static inline int placeholder_is_late(const struct placeholder_values *values, char gap)
{
	return values->is_first_half ? gap == 'p' || gap == 't' || gap == '%'
				     : gap == 'p' && !values->pid;
}

/*
 * Expand the placeholder whose '%' precedes @at. Returns its number of bytes from @at on, or
 * -errno.
 */
static inline int placeholder_put_gap(
	struct placeholder_name *name, const char *at, const struct placeholder_values *values)
{
	char digits[24];
	int used;

	if (placeholder_is_late(values, *at)) {
		placeholder_put(name, '%');
		placeholder_put(name, *at);
		return 1;
	}
	switch (*at) {
	case 'p':
		snprintf(digits, sizeof(digits), "%ld", values->pid);
		placeholder_put_value(name, digits);
		return 1;
	case 'h':
		placeholder_put_host(name);
		return 1;
	case 't':
		placeholder_put_time(name, values->started_s);
		return 1;
	case 'r':
		placeholder_put_rank(name);
		return 1;
	case '{':
		used = placeholder_put_variable(name, at + 1);
		return used < 0 ? used : used + 1;
	case '%':
		placeholder_put(name, '%');
		return 1;
	default:
		return -EINVAL;
	}
}

/*
 * Expand @pattern into @out of @bytes bytes. In an inserted value each slash becomes '_', and so
 * does a dot at the beginning of a name, so that a value never leads to another folder.
 *
 * Returns 0; -EINVAL for an unknown placeholder or -ENOENT for a variable that is not set, with
 * *@at behind the '%' of that placeholder; -ENAMETOOLONG. @out is undefined after a failure.
 * Context: not a signal handler; no thread may change the environment meanwhile if @pattern has
 * "%{".
 */
static inline int placeholder_fill(char *out, size_t bytes, const char *pattern,
	const struct placeholder_values *values, const char **at)
{
	struct placeholder_name name = {out, bytes, 0, values->is_first_half};

	for (*at = pattern; **at; (*at)++) {
		int used;

		if (**at != '%') {
			placeholder_put(&name, **at);
			continue;
		}
		used = placeholder_put_gap(&name, ++*at, values);
		if (used < 0)
			return used;
		*at += used - 1;
	}
	if (name.bytes >= bytes)
		return -ENAMETOOLONG;
	out[name.bytes] = '\0';
	return 0;
}

/* Returns the first "%p" in @pattern, or NULL. */
static inline const char *placeholder_find_pid(const char *pattern)
{
	for (; *pattern; pattern++) {
		const char *gap = pattern;

		if (*pattern != '%')
			continue;
		if (*++pattern == 'p')
			return gap;
		if (*pattern == '{')
			pattern += strcspn(pattern, "}");
		if (!*pattern)
			return NULL;
	}
	return NULL;
}

#endif
