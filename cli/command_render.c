/* SPDX-License-Identifier: MIT */
/* flamerun render: read a file of stacks, write any format. flamerun merge: read several files. */
#include "cli/command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/formats/ranks.h"
#include "cli/run/results.h"
#include "cli/run/signals.h"
#include "cli/stored.h"

/*
 * Save stacks that came from a pipe in a file if an output failed and no other output has the
 * stacks, because a pipe cannot be read again. Save nothing if the only failed outputs are pipes
 * whose reader has ended, such as head(1).
 */
static void rescue_stacks(const struct input *input, const struct picture_options *picture,
	const struct results_written *written, struct diag_message *message)
{
	const struct calltree *tree = input->tree;
	char path[PATH_MAX];

	if (strcmp(input->path, "-") || written->has_stacks || !calltree_total(tree) ||
		written->failed == written->unread)
		return;
	if (results_rescue(tree, picture, path, message))
		return;
	diag_fail(message, -EIO, "the stacks are in '%s'", path);
}

/* Print how the ranks of a job differ. @ranks is NULL if the file is not from a job. */
static void report_ranks(const struct ranks *ranks)
{
	char line[RANKS_TEXT_BYTES];

	for (unsigned i = 0; ranks && ranks_line(ranks, i, line); i++)
		diag_info("%s%s", i ? "  " : "", line);
}

static int write_stored(
	const struct stored *stored, struct results *results, struct diag_message *message)
{
	struct results_written written;

	results_write(results, stored->trees.shown, &stored->picture, true, &written);
	report_ranks(stored->picture.ranks);
	if (written.failed) {
		rescue_stacks(&stored->input, &stored->picture, &written, message);
		return -EIO; /* reported already */
	}
	if (!stored->options.open)
		return 0;
	if (!written.show)
		return diag_fail(message, -EINVAL, "nothing to open: no SVG was written to a file");
	return opener_start(written.show, message);
}

static int render_files(const struct options *options, const struct stored_files *files,
	struct diag_message *message)
{
	struct stored stored = {.input = {.path = NULL}};
	struct results *results = NULL;
	int error;

	signals_guard();
	error = results_open(&results, options, false, message);
	if (!error)
		error = stored_read(&stored, options, files, true, message);
	if (!error)
		error = write_stored(&stored, results, message);
	stored_release(&stored);
	results_free(results);
	return error;
}

void command_draw_job(const struct options *options, const char *folder)
{
	const struct stored_files files = {.paths = &folder, .count = 1};
	const struct options_row *row = options_find("output", strlen("output"));
	struct options own = *options;
	struct diag_message message = {0};
	char path[PATH_MAX];

	if (options_origin(options, row)->rank == OPTIONS_BUILT_IN) {
		snprintf(path, sizeof(path), "%s/job.svg", folder);
		own.outputs.item[0] = path;
	}
	if (render_files(&own, &files, &message) && message.text[0]) {
		diag_report(&message);
		diag_hint("to draw it: flamerun merge '%s' -o job.svg", folder);
	}
}

static int render_checked(const struct options *options, void *context, struct ending *ending,
	struct diag_message *message)
{
	const struct stored_files *files = context;
	int error = picture_check_groups(options, files->can_be_several, message);

	(void)ending;
	return error ? error : render_files(options, files, message);
}

static struct ending render_command(
	struct options *options, enum stored_command command, int argc, char **argv, int index)
{
	struct diag_message message = {0};
	struct stored_files files;
	int error = stored_parse(options, command, argc, argv, index, &files, &message);
	struct ending ending = command_finish(options, error, render_checked, &files, &message);

	free(files.paths);
	return ending;
}

struct ending command_render(struct options *options, int argc, char **argv, int index)
{
	return render_command(options, STORED_RENDER, argc, argv, index);
}

struct ending command_merge(struct options *options, int argc, char **argv, int index)
{
	return render_command(options, STORED_MERGE, argc, argv, index);
}
