/* SPDX-License-Identifier: MIT */
/*
 * The options table and its parser.
 */
#include "cli/options.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/formats/format.h"

#define NS_PER_S 1000000000.0
/* More than a century, and far below what 64 bits of nanoseconds hold. */
#define DURATION_MAX_S 4000000000.0

#define UINT(low, high) OPTIONS_KIND_UINT, low, high
#define SECONDS         OPTIONS_KIND_SECONDS, 0, 0
#define TEXT            OPTIONS_KIND_TEXT, 0, 0
#define OUTPUT          OPTIONS_KIND_OUTPUT, 0, 0
#define SET(value)      OPTIONS_KIND_SET, value, value

#define OPTIONS_GROUP(title) {.long_name = NULL, .text = title},
#define OPTION(letter, name, value, member, type, initial, help, complete, which)    \
	{letter, name, value, offsetof(struct options, member), type, initial, help, \
		OPTIONS_COMPLETE_##complete, OPTIONS_FOR_##which},

const struct options_row options_rows[] = {
#include "cli/options.def"
};
const size_t options_row_count = sizeof(options_rows) / sizeof(options_rows[0]);

static void *field_of(struct options *options, const struct options_row *row)
{
	return (char *)options + row->field;
}

static int parse_uint(const struct options_row *row, uint32_t *field, const char *value,
	struct diag_message *message)
{
	char *end;
	unsigned long number;

	errno = 0;
	number = strtoul(value, &end, 10);
	/* strtoul takes blanks and signs; a leading digit rules them out. */
	if (value[0] < '0' || value[0] > '9' || *end || errno || number < row->min ||
		number > row->max)
		return diag_fail(message, -EINVAL,
			"--%s wants a whole number from %u to %u, not '%s'", row->long_name,
			row->min, row->max, value);
	*field = (uint32_t)number;
	return 0;
}

static int parse_seconds(const struct options_row *row, uint64_t *field, const char *value,
	struct diag_message *message)
{
	char *end;
	double seconds = strtod(value, &end);
	uint64_t duration_ns = 0;

	/* Only plain decimals: strtod also takes "inf", "nan", "0x1p3" and signs. */
	if (value[0] && !value[strspn(value, "0123456789.")] && !*end && seconds <= DURATION_MAX_S)
		duration_ns = (uint64_t)llround(seconds * NS_PER_S);
	if (!duration_ns)
		return diag_fail(message, -EINVAL,
			"--%s wants seconds, more than 0 (2 or 0.5), not '%s'", row->long_name,
			value);
	*field = duration_ns;
	return 0;
}

static int parse_output(
	struct options_paths *field, const char *value, struct diag_message *message)
{
	if (!format_of(value)) {
		diag_fail(message, -EINVAL, "cannot tell the format of '%s' by its name", value);
		diag_fail_hint(message, "known endings: " FORMAT_EXTENSIONS);
		return -EINVAL;
	}
	if (field->count == OPTIONS_OUTPUTS_MAX)
		return diag_fail(message, -EINVAL, "more than %d outputs", OPTIONS_OUTPUTS_MAX);
	field->path[field->count++] = value;
	return 0;
}

static int store(struct options *options, const struct options_row *row, const char *value,
	struct diag_message *message)
{
	void *field = field_of(options, row);

	switch (row->kind) {
	case OPTIONS_KIND_UINT:
		return parse_uint(row, field, value, message);
	case OPTIONS_KIND_SECONDS:
		return parse_seconds(row, field, value, message);
	case OPTIONS_KIND_OUTPUT:
		return parse_output(field, value, message);
	case OPTIONS_KIND_TEXT:
		*(const char **)field = value;
		return 0;
	case OPTIONS_KIND_SET:
		*(uint32_t *)field = row->min;
		return 0;
	}
	return -EINVAL;
}

/* An option from the command line: also notes which commands it belongs to. */
static int take(struct options *options, const struct options_row *row, const char *value,
	struct diag_message *message)
{
	if (row->commands == OPTIONS_FOR_RUN)
		options->run_only = row->long_name;
	return store(options, row, value, message);
}

static const struct options_row *find_long(const char *name, size_t bytes)
{
	for (size_t i = 0; i < options_row_count; i++) {
		const char *candidate = options_rows[i].long_name;

		if (candidate && strlen(candidate) == bytes && !memcmp(candidate, name, bytes))
			return &options_rows[i];
	}
	return NULL;
}

static const struct options_row *find_short(char letter)
{
	for (size_t i = 0; i < options_row_count; i++)
		if (letter && options_rows[i].short_name == letter)
			return &options_rows[i];
	return NULL;
}

static int unknown(struct diag_message *message, const char *dashes, const char *name, int bytes)
{
	diag_fail(message, -EINVAL, "unknown option '%s%.*s'", dashes, bytes, name);
	diag_fail_hint(message, "flamerun --help lists the options");
	return -EINVAL;
}

/* @word behind "--"; @next is the following word or NULL. *@used tells whether that was taken. */
static int parse_long(struct options *options, const char *word, const char *next, bool *used,
	struct diag_message *message)
{
	size_t bytes = strcspn(word, "=");
	const struct options_row *row = find_long(word, bytes);
	const char *value = word[bytes] ? word + bytes + 1 : NULL;

	if (!row)
		return unknown(message, "--", word, bytes > INT_MAX ? INT_MAX : (int)bytes);
	if (!row->argument && value)
		return diag_fail(message, -EINVAL, "--%s takes no value", row->long_name);
	if (row->argument && !value) {
		if (!next)
			return diag_fail(
				message, -EINVAL, "--%s wants %s", row->long_name, row->argument);
		value = next;
		*used = true;
	}
	return take(options, row, value, message);
}

/* @word behind "-": letters, the last of which may have its value attached or in @next. */
static int parse_shorts(struct options *options, const char *word, const char *next, bool *used,
	struct diag_message *message)
{
	int error = 0;

	for (; *word && !error; word++) {
		const struct options_row *row = find_short(*word);

		if (!row)
			return unknown(message, "-", word, 1);
		if (!row->argument) {
			error = take(options, row, NULL, message);
			continue;
		}
		if (word[1])
			return take(options, row, word + 1, message);
		if (!next)
			return diag_fail(message, -EINVAL, "-%c wants %s", *word, row->argument);
		*used = true;
		return take(options, row, next, message);
	}
	return error;
}

void options_init(struct options *options)
{
	memset(options, 0, sizeof(*options));
	options->level = DIAG_NORMAL;
	for (size_t i = 0; i < options_row_count; i++)
		if (options_rows[i].fallback && options_rows[i].kind != OPTIONS_KIND_OUTPUT)
			store(options, &options_rows[i], options_rows[i].fallback, NULL);
}

int options_parse(
	struct options *options, int argc, char **argv, int *index, struct diag_message *message)
{
	while (*index < argc) {
		const char *word = argv[*index];
		const char *next = *index + 1 < argc ? argv[*index + 1] : NULL;
		bool used = false;
		int error;

		if (word[0] != '-' || !word[1])
			return 0;
		++*index;
		if (!strcmp(word, "--")) {
			options->ended_by_dashes = true;
			return 0;
		}
		if (word[1] == '-')
			error = parse_long(options, word + 2, next, &used, message);
		else
			error = parse_shorts(options, word + 1, next, &used, message);
		if (error)
			return error;
		*index += used;
	}
	return 0;
}

void options_finish(struct options *options)
{
	for (size_t i = 0; i < options_row_count; i++)
		if (options_rows[i].kind == OPTIONS_KIND_OUTPUT && !options->outputs.count)
			store(options, &options_rows[i], options_rows[i].fallback, NULL);
}
