/* SPDX-License-Identifier: MIT */
/*
 * Print -h, --help, --version and --show-config, and execute commands. The help is made from the
 * options table. -h fits a terminal of 24 lines by 80 columns. --help has a line for each option.
 * --show-config prints each setting's value and the origin of the value.
 */
#include "cli/command.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/config.h"
#include "cli/diag.h"
#include "cli/options.h"

static int flush_output(FILE *out)
{
	errno = 0;
	if (fflush(out) || ferror(out))
		return errno ? -errno : -EIO;
	return 0;
}

/* ---- settings -------------------------------------------------------------------------------- */

#define NS_PER_S      1000000000u
#define ORIGIN_COLUMN 36

/* Never released: struct options borrows its strings until flamerun ends. */
static struct config config;

int command_complete(struct options *options, struct diag_message *message)
{
	struct config_paths paths;
	int error;

	config_paths_find(&paths);
	error = config_load(&config, options, &paths, message);
	config_paths_release(&paths);
	diag_set_level(options->level);
	for (size_t i = 0; i < config.warnings.count; i++)
		diag_info("%s", config.warnings.items[i]);
	return error ? error : options_finish(options, message);
}

/* Write @duration_ns as seconds, exactly and without trailing zeros: 0.1, 2. */
static void print_seconds(char *out, size_t size, uint64_t duration_ns)
{
	int bytes = snprintf(out, size, "%" PRIu64 ".%09" PRIu64, duration_ns / NS_PER_S,
		duration_ns % NS_PER_S);

	while (out[bytes - 1] == '0')
		out[--bytes] = '\0';
	if (out[bytes - 1] == '.')
		out[--bytes] = '\0';
}

/*
 * Returns @row's value, or item @i of its list, as text for a settings file; owned. Returns NULL if
 * there is no value or no memory.
 */
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
	case OPTIONS_KIND_MAP:
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
	char source[512] = "";

	if (origin->source)
		snprintf(source, sizeof(source), "%s", origin->source);
	diag_disarm(source);
	if (origin->line)
		fprintf(out, "%s:%u\n", source, origin->line);
	else if (origin->rank == OPTIONS_ENVIRONMENT)
		fprintf(out, "environment, %s\n", source);
	else
		fputs(origin->rank == OPTIONS_COMMAND_LINE ? "command line\n" : "built-in\n", out);
}

/* Write one line for each value of @row. All lines of all rows form a valid settings file. */
static void write_setting(const struct options *options, const struct options_row *row, FILE *out)
{
	const struct options_origin *origin = options_origin(options, row);
	bool is_list = row->kind == OPTIONS_KIND_OUTPUT || row->kind == OPTIONS_KIND_REGEX ||
		       row->kind == OPTIONS_KIND_MAP;
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

static int write_settings(const struct options *options, FILE *out)
{
	for (size_t i = 0; i < options_row_count; i++)
		if (options_rows[i].long_name && options_rows[i].from != OPTIONS_FROM_COMMAND)
			write_setting(options, &options_rows[i], out);
	return flush_output(out);
}

/* ---- help ------------------------------------------------------------------------------------ */

#define TEXT_COLUMN 27

static const char short_head[] =
	"usage: flamerun [option...] [--] program [argument...]\n"
	"       flamerun -p PIDS [option...]; flamerun render|merge|top|diff|push FILE...\n"
	"Run a program and draw a flame graph of where it spent its time.\n";

static const char short_tail[] =
	"render draws or converts a file, merge adds up files, top prints tables, push\n"
	"stores files, diff compares: flamerun diff -n 10 -- ./old --- ./new\n"
	"flamerun --help lists all options; man flamerun explains them\n";

static const char long_head[] =
	"usage: flamerun [option...] [@preset] [--] program [argument...]\n"
	"       flamerun -p PIDS [option...]\n"
	"Run a program and draw a flame graph of where it spent its time.\n"
	"\n"
	"Commands, with options as below:\n"
	"  flamerun render FILE               draw a file: .folded .pb.gz .svg ...\n"
	"  flamerun merge FILE...             draw several files as one graph\n"
	"  flamerun top FILE                  print tables of the hottest functions\n"
	"  flamerun diff OLD... -- NEW...     compare files of two versions\n"
	"  flamerun diff -n N -- OLD --- NEW  compare two programs by N runs of each\n"
	"  flamerun push STORE FILE...        add files to a store of many profiles\n";

static const char long_tail[] =
	"\n"
	"A switch such as --icicle is undone by --no-icicle.\n"
	"Examples: flamerun ./server --port 80;  flamerun -o build.svg -- make -j8\n"
	"The exit status is the program's own. man flamerun explains all of this.\n";

/* Write an option, its text (further lines are indented) and its default value. */
static void write_option(const struct options_row *row, FILE *out)
{
	const char *line = row->text;
	char letter[] = {'-', row->short_name, ',', ' ', '\0'};
	char names[64];

	snprintf(names, sizeof(names), "%s--%s%s%s%s", row->short_name ? letter : "    ",
		row->kind == OPTIONS_KIND_SWITCH && row->fallback ? "[no-]" : "", row->long_name,
		row->argument ? " " : "", row->argument ? row->argument : "");
	fprintf(out, "  %-*s", TEXT_COLUMN - 2, names);
	for (;;) {
		size_t bytes = strcspn(line, "\n");

		fprintf(out, "%.*s", (int)bytes, line);
		if (!line[bytes])
			break;
		fprintf(out, "\n%*s", TEXT_COLUMN, "");
		line += bytes + 1;
	}
	if (options_has_default(row))
		fprintf(out, " [%s]", row->fallback);
	fputc('\n', out);
}

static void write_options(bool is_short, FILE *out)
{
	for (size_t i = 0; i < options_row_count; i++) {
		const struct options_row *row = &options_rows[i];

		if (row->long_name && (!is_short || row->listed == OPTIONS_LISTED_SHORT))
			write_option(row, out);
		else if (!row->long_name && !row->text)
			return;
		else if (!row->long_name && !is_short)
			fprintf(out, "\n%s:\n", row->text);
	}
}

int help_write(bool is_short, FILE *out)
{
	fputs(is_short ? short_head : long_head, out);
	write_options(is_short, out);
	fputs(is_short ? short_tail : long_tail, out);
	return flush_output(out);
}

static int write_version(FILE *out)
{
	fputs("flamerun " FLAMERUN_VERSION "\n", out);
	return flush_output(out);
}

struct ending command_print(struct options *options)
{
	struct diag_message message = {0};
	int error = 0;

	switch ((enum options_action)options->action) {
	case OPTIONS_SHOW_CONFIG:
		if (command_complete(options, &message)) {
			diag_report(&message);
			return (struct ending){.status = COMMAND_FAILED};
		}
		error = write_settings(options, stdout);
		break;
	case OPTIONS_COMPLETIONS:
		error = completions_write(options->completions, stdout);
		break;
	case OPTIONS_VERSION:
		error = write_version(stdout);
		break;
	case OPTIONS_HELP:
	case OPTIONS_SHORT_HELP:
	case OPTIONS_RUN:
		error = help_write(options->action == OPTIONS_SHORT_HELP, stdout);
		break;
	}
	if (error)
		diag_error("cannot write to standard output: %s", strerror(-error));
	return (struct ending){.status = error ? COMMAND_FAILED : 0};
}

struct ending command_finish(struct options *options, int error, command_work *work, void *context,
	struct diag_message *message)
{
	struct ending ending = {.status = 0};

	diag_set_level(options->level);
	if (!error && options->action != OPTIONS_RUN)
		return command_print(options);
	if (!error)
		error = command_complete(options, message);
	if (!error)
		error = work(options, context, &ending, message);
	/* If the reader of stdout (such as head(1)) has ended, end by SIGPIPE, as cat(1) does. */
	if (error == -EPIPE)
		ending.signal = SIGPIPE;
	else if (error && !ending.status && !ending.signal)
		ending.status = COMMAND_FAILED;
	if (error && message->text[0])
		diag_report(message);
	return ending;
}
