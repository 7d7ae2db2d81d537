/* SPDX-License-Identifier: MIT */
/*
 * What counts in the end, from the usual places, and --show-config, which says so.
 */
#include "cli/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/config.h"

#define NS_PER_S      1000000000u
#define ORIGIN_COLUMN 36

/* As argv, what was read stays until the process ends. */
static struct config config;

int command_settle(struct options *options, struct diag_message *message)
{
	struct config_places places;
	int error;

	config_places_find(&places);
	error = config_load(&config, options, &places, message);
	config_places_release(&places);
	diag_set_level(options->level);
	for (size_t i = 0; i < config.warnings.count; i++)
		diag_info("%s", config.warnings.items[i]);
	return error ? error : options_finish(options, message);
}

/* Exact, and without zeros that say nothing: 0.1, 2. */
static void print_seconds(char *out, size_t size, uint64_t duration_ns)
{
	int bytes = snprintf(out, size, "%" PRIu64 ".%09" PRIu64, duration_ns / NS_PER_S,
		duration_ns % NS_PER_S);

	while (out[bytes - 1] == '0')
		out[--bytes] = '\0';
	if (out[bytes - 1] == '.')
		out[--bytes] = '\0';
}

/* The value of @row as a settings file has it; NULL: there is none. Owned; without memory also. */
static char *value_of(const struct options *options, const struct options_row *row, unsigned i)
{
	const void *field = (const char *)options + row->field;
	const struct options_list *list = field;
	const char *text = NULL;
	char number[32];
	char *copy;

	switch (row->kind) {
	case OPTIONS_KIND_UINT:
		snprintf(number, sizeof(number), "%u", *(const uint32_t *)field);
		text = number;
		break;
	case OPTIONS_KIND_DECIMAL:
		snprintf(number, sizeof(number), "%.15g", *(const double *)field);
		text = *(const double *)field > 0 ? number : NULL;
		break;
	case OPTIONS_KIND_SECONDS:
		print_seconds(number, sizeof(number), *(const uint64_t *)field);
		text = *(const uint64_t *)field ? number : NULL;
		break;
	case OPTIONS_KIND_SWITCH:
	case OPTIONS_KIND_FLAG:
		text = *(const uint32_t *)field == (uint32_t)row->min ? "yes" : "no";
		break;
	case OPTIONS_KIND_TEXT:
	case OPTIONS_KIND_CHOICE:
	case OPTIONS_KIND_CHOICES:
		text = *(const char *const *)field;
		break;
	case OPTIONS_KIND_REGEX:
	case OPTIONS_KIND_OUTPUT:
		text = i < list->count ? list->item[i] : NULL;
		break;
	}
	copy = text ? strdup(text) : NULL;
	if (copy)
		diag_disarm(copy);
	return copy;
}

static void write_origin(const struct options_origin *origin, FILE *out)
{
	char place[512] = "";

	if (origin->place)
		snprintf(place, sizeof(place), "%s", origin->place);
	diag_disarm(place);
	if (origin->line)
		fprintf(out, "%s:%u\n", place, origin->line);
	else if (origin->rank == OPTIONS_ENVIRONMENT)
		fprintf(out, "environment, %s\n", place);
	else
		fputs(origin->rank == OPTIONS_COMMAND_LINE ? "command line\n" : "built-in\n", out);
}

/* A line for each value, so that all lines together are a settings file. */
static void write_setting(const struct options *options, const struct options_row *row, FILE *out)
{
	const struct options_origin *origin = options_origin(options, row);
	bool is_list = row->kind == OPTIONS_KIND_OUTPUT || row->kind == OPTIONS_KIND_REGEX;
	const struct options_list *list = (const void *)((const char *)options + row->field);
	unsigned lines = is_list && list->count ? list->count : 1;

	for (unsigned i = 0; i < lines; i++) {
		char *value = value_of(options, row, i);
		int column = fprintf(out, "%s%s =%s%s", value ? "" : ";", row->long_name,
			value && value[0] ? " " : "", value ? value : "");

		fprintf(out, "%*s ; ", column < ORIGIN_COLUMN ? ORIGIN_COLUMN - column : 0, "");
		if (value || origin->rank != OPTIONS_BUILT_IN)
			write_origin(origin, out);
		else
			fprintf(out, "built-in %s\n", row->fallback ? row->fallback : "(none)");
		free(value);
	}
}

int command_write_settings(const struct options *options, FILE *out)
{
	for (size_t i = 0; i < options_row_count; i++)
		if (options_rows[i].long_name && options_rows[i].from != OPTIONS_FROM_COMMAND)
			write_setting(options, &options_rows[i], out);
	errno = 0;
	if (fflush(out) || ferror(out))
		return errno ? -errno : -EIO;
	return 0;
}
