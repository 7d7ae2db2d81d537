/* SPDX-License-Identifier: MIT */
/*
 * flamerun top: print tables of functions and their weights to standard output.
 */
#include "cli/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/formats/report.h"
#include "cli/run/signals.h"
#include "cli/stored.h"

/* Columns of a line if neither COLUMNS nor a terminal sets the width. */
#define COLUMNS_USUAL 80
#define COLUMNS_MAX   1000

/* Returns the columns of a line: COLUMNS if it is set, as in ls(1), or else the terminal's. */
static unsigned find_columns(void)
{
	const char *text = getenv("COLUMNS");
	struct winsize size;
	long columns = text ? strtol(text, NULL, 10) : 0;

	if (columns <= 0 && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		columns = size.ws_col;
	if (columns <= 0)
		return COLUMNS_USUAL;
	return columns < COLUMNS_MAX ? (unsigned)columns : COLUMNS_MAX;
}

/* Write the tables to stdout. Returns 0, or -errno of writing. No @message is set for -EPIPE. */
static int write_tables(
	const struct options *options, const struct report *report, struct diag_message *message)
{
	int error;

	errno = 0;
	if (options->json)
		error = report_put_json(report, stdout);
	else if (options->csv)
		error = report_put_csv(report, stdout);
	else
		error = report_put_text(report, find_columns(), stdout);
	return diag_end_stdout(error, message);
}

static int print_file(const struct options *options, const struct stored_files *files,
	struct diag_message *message)
{
	struct stored stored = {.input = {.path = NULL}};
	struct report_request request = {.limit = options->limit};
	struct picture_expressions *of = NULL;
	struct report report = {.picture = NULL};
	int error = picture_expressions_new(&of, "of", &options->of, &request.of, message);

	if (!error)
		error = stored_read(&stored, options, files, false, message);
	if (!error) {
		error = report_init(&report, stored.trees.shown, &stored.picture, &request);
		if (error)
			diag_fail(message, error, "cannot count: %s", strerror(-error));
	}
	if (!error)
		error = write_tables(options, &report, message);
	report_release(&report);
	stored_release(&stored);
	picture_expressions_free(of);
	return error;
}

static int check_top(const struct options *options, struct diag_message *message)
{
	if (options->json && options->csv)
		return diag_fail(message, -EINVAL, "either --json or --csv");
	if (options_origin(options, options_find("output", strlen("output")))->rank ==
		OPTIONS_COMMAND_LINE) {
		diag_fail(message, -EINVAL, "top writes to standard output, and no file");
		diag_fail_hint(message, "flamerun render FILE -o run.json, or > FILE");
		return -EINVAL;
	}
	return picture_check_groups(options, false, message);
}

static int print_checked(const struct options *options, void *context, struct ending *ending,
	struct diag_message *message)
{
	int error = check_top(options, message);

	(void)ending;
	return error ? error : print_file(options, context, message);
}

struct ending command_top(struct options *options, int argc, char **argv, int index)
{
	struct diag_message message = {0};
	struct stored_files files;
	int error = stored_parse(options, STORED_TOP, argc, argv, index, &files, &message);
	struct ending ending = command_finish(options, error, print_checked, &files, &message);

	free(files.paths);
	return ending;
}
