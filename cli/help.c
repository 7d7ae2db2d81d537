/* SPDX-License-Identifier: MIT */
/*
 * --help, laid out from the options table so that it fits a terminal of 24 lines by 80 columns.
 */
#include "cli/help.h"

#include <errno.h>
#include <string.h>

#include "cli/command.h"
#include "cli/completions.h"
#include "cli/diag.h"
#include "cli/options.h"

#define TEXT_COLUMN  26
#define LINE_COLUMNS 80

static const char head[] =
	"usage: flamerun [option...] [@preset] [--] program [argument...]\n"
	"       flamerun -p PIDS [option...];  flamerun render stacks.folded [option...]\n"
	"Run a program and draw a flame graph of where it spent its time.\n";

static const char tail[] =
	"Examples: flamerun ./server --port 80;  flamerun -o build.svg -- make -j8\n"
	"The exit status is the program's own. See flamerun(1) for all of this.\n";

/* "-r, --rate HZ", or "--rate HZ" behind what a short name would take when @aligned. */
static size_t print_names(char *out, size_t size, const struct options_row *row, bool aligned)
{
	char letter[] = {'-', row->short_name, ',', ' ', '\0'};

	return (size_t)snprintf(out, size, "%s--%s%s%s",
		row->short_name ? letter : (aligned ? "    " : ""), row->long_name,
		row->argument ? " " : "", row->argument ? row->argument : "");
}

/* A line for one option. Further lines of its text are indented, the default follows the last. */
static void write_line(const struct options_row *row, FILE *out)
{
	const char *line = row->text;
	char names[64];

	print_names(names, sizeof(names), row, true);
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

/* Names only, as many to a line as fit. *@column is where the line has got to, 0: not begun. */
static void write_brief(const struct options_row *row, size_t *column, FILE *out)
{
	char names[64];
	size_t bytes = print_names(names, sizeof(names), row, false);

	if (*column && *column + 2 + bytes > LINE_COLUMNS) {
		fputc('\n', out);
		*column = 0;
	}
	fprintf(out, "%s%s", "  ", names);
	*column += 2 + bytes;
}

/* Names go on behind the title, lines begin below it. Returns where the line has got to. */
static size_t write_title(const struct options_row *row, FILE *out)
{
	int bytes = fprintf(out, "%s:", row->text);

	if (row->listing == OPTIONS_NAMES)
		return bytes > 0 ? (size_t)bytes : 0;
	fputc('\n', out);
	return 0;
}

static void write_options(FILE *out)
{
	enum options_listing listing = OPTIONS_LINES;
	size_t column = 0;

	for (size_t i = 0; i < options_row_count; i++) {
		const struct options_row *row = &options_rows[i];

		if (row->long_name && listing == OPTIONS_LINES)
			write_line(row, out);
		else if (row->long_name && listing == OPTIONS_NAMES)
			write_brief(row, &column, out);
		if (row->long_name)
			continue;
		listing = row->listing;
		if (column)
			fputc('\n', out);
		column = 0;
		if (row->text)
			column = write_title(row, out);
	}
}

static int finish(FILE *out)
{
	errno = 0;
	if (fflush(out) || ferror(out))
		return errno ? -errno : -EIO;
	return 0;
}

int help_write(FILE *out)
{
	fputs(head, out);
	write_options(out);
	fputs(tail, out);
	return finish(out);
}

int help_write_version(FILE *out)
{
	fputs("flamerun " FLAMERUN_VERSION "\n", out);
	return finish(out);
}

struct ending command_tell(struct options *options)
{
	struct diag_message message = {0};
	int error = 0;

	switch ((enum options_action)options->action) {
	case OPTIONS_SHOW_CONFIG:
		if (command_settle(options, &message)) {
			diag_report(&message);
			return (struct ending){.status = COMMAND_FAILED};
		}
		error = command_write_settings(options, stdout);
		break;
	case OPTIONS_COMPLETIONS:
		error = completions_write(options->completions, stdout);
		break;
	case OPTIONS_VERSION:
		error = help_write_version(stdout);
		break;
	case OPTIONS_HELP:
	case OPTIONS_RUN:
		error = help_write(stdout);
		break;
	}
	if (error)
		diag_error("cannot write to standard output: %s", strerror(-error));
	return (struct ending){.status = error ? COMMAND_FAILED : 0};
}
