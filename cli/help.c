/* SPDX-License-Identifier: MIT */
/*
 * --help, laid out from the options table so that it fits a terminal of 24 lines by 80 columns.
 */
#include "cli/help.h"

#include <errno.h>
#include <string.h>

#include "cli/command.h"
#include "cli/diag.h"
#include "cli/options.h"

#define TEXT_COLUMN 26

static const char head[] = "usage: flamerun [option...] [--] program [argument...]\n"
			   "       flamerun render stacks.folded [-o FILE]...\n"
			   "Run a program and draw a flame graph of where it spent its time.\n";

static const char tail[] =
	"Examples:\n"
	"  flamerun ./server --port 80\n"
	"  flamerun -o build.svg -- make -j8\n"
	"The exit status is the program's own; 125 to 127 say why it did not start.\n";

/* The left column: "  -r, --rate HZ". */
static void write_names(const struct options_row *row, FILE *out)
{
	char names[64];

	snprintf(names, sizeof(names), "  %c%c%s--%s%s%s", row->short_name ? '-' : ' ',
		row->short_name ? row->short_name : ' ', row->short_name ? ", " : "  ",
		row->long_name, row->argument ? " " : "", row->argument ? row->argument : "");
	fprintf(out, "%-*s", TEXT_COLUMN, names);
}

/* The right column; its further lines are indented, the default follows the last one. */
static void write_text(const struct options_row *row, FILE *out)
{
	const char *line = row->text;

	for (;;) {
		size_t bytes = strcspn(line, "\n");

		fprintf(out, "%.*s", (int)bytes, line);
		if (!line[bytes])
			break;
		fprintf(out, "\n%*s", TEXT_COLUMN, "");
		line += bytes + 1;
	}
	if (row->fallback)
		fprintf(out, " [%s]", row->fallback);
	fputc('\n', out);
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
	for (size_t i = 0; i < options_row_count; i++) {
		const struct options_row *row = &options_rows[i];

		if (row->long_name) {
			write_names(row, out);
			write_text(row, out);
		} else if (row->text) {
			fprintf(out, "%s:\n", row->text);
		} else {
			break; /* the group that is not shown comes last */
		}
	}
	fputs(tail, out);
	return finish(out);
}

int help_write_version(FILE *out)
{
	fputs("flamerun " FLAMERUN_VERSION "\n", out);
	return finish(out);
}

struct ending command_tell(enum options_action action)
{
	int error = action == OPTIONS_VERSION ? help_write_version(stdout) : help_write(stdout);

	if (error)
		diag_error("cannot write to standard output: %s", strerror(-error));
	return (struct ending){.status = error ? COMMAND_FAILED : 0};
}
