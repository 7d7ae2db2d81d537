/* SPDX-License-Identifier: MIT */
/*
 * flamerun render: folded stacks in, pictures out. No program is run.
 */
#include "cli/command.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/formats/folded.h"
#include "cli/formats/format.h"
#include "cli/picture_settings.h"
#include "cli/run/opener.h"
#include "cli/run/rescue.h"
#include "cli/run/results.h"
#include "cli/run/signals.h"

/* Options may stand on both sides of the one operand. Returns it in *@input. */
static int parse(struct options *options, int argc, char **argv, int index, const char **input,
	struct diag_message *message)
{
	*input = NULL;
	for (;;) {
		int error = 0;

		if (!options->ended_by_dashes)
			error = options_parse(options, argc, argv, &index, message);
		if (error)
			return error;
		if (index == argc)
			break;
		if (*input)
			return diag_fail(message, -EINVAL, "render takes one file, not also '%s'",
				argv[index]);
		*input = argv[index++];
	}
	if (options->action != OPTIONS_RUN)
		return 0;
	if (!*input) {
		diag_fail(message, -EINVAL, "render wants a file of folded stacks");
		diag_fail_hint(message, "flamerun render stacks.folded -o flame.svg");
		return -EINVAL;
	}
	if (options->run_only)
		return diag_fail(message, -EINVAL,
			"--%s means nothing to render: it runs no program", options->run_only);
	return 0;
}

/* A picture's lines of text would be taken for stacks wherever they end in a number. */
static int refuse_picture(const char *path, struct diag_message *message)
{
	const struct format *format = format_of(path, NULL);

	if (!format || format_is_folded(format))
		return 0;
	diag_fail(message, -EINVAL, "render draws folded stacks, which '%s' does not hold", path);
	diag_fail_hint(message,
		"write them beside the picture: flamerun -o run.svg -o run.folded -- program");
	return -EINVAL;
}

static int read_stacks(struct calltree *tree, const char *path, struct diag_message *message)
{
	const char *name = strcmp(path, "-") ? path : "standard input";
	FILE *in = strcmp(path, "-") ? fopen(path, "re") : stdin;
	uint64_t bad = 0, first_bad = 0;
	int error;

	if (!in)
		return diag_fail(message, -errno, "cannot open '%s': %s", name, strerror(errno));
	error = folded_read(tree, in, &bad, &first_bad);
	if (in != stdin)
		fclose(in);
	if (!error)
		error = calltree_finish(tree);
	if (error)
		return diag_fail(message, error, "cannot read '%s': %s", name, strerror(-error));
	if (bad)
		diag_info("'%s': %" PRIu64
			  " line%s not \"stack weight\" and left out, the first is "
			  "line %" PRIu64,
			name, bad, bad == 1 ? " is" : "s are", first_bad);
	if (!calltree_total(tree) && !bad) {
		/* As flamerun itself writes it when a program was too short to be sampled. */
		diag_info("'%s' is empty: nothing is in the picture", name);
	} else if (!calltree_total(tree)) {
		diag_fail(message, -ENODATA, "'%s' has no folded stacks", name);
		diag_fail_hint(message, "each line is \"outer;inner weight\"");
		return -ENODATA;
	}
	return 0;
}

/* What came through a pipe and could not be written is gone with us, unless it is put somewhere. */
static void rescue(const struct calltree *tree, struct diag_message *message)
{
	char path[PATH_MAX];

	if (rescue_stacks(tree, path, message))
		return;
	diag_fail(message, -EIO, "the stacks are in '%s'", path);
}

static int draw(const struct options *options, const struct calltree *tree, bool is_piped,
	struct results *results, struct diag_message *message)
{
	struct picture_options picture = {0};
	struct results_written written;
	struct calltree *shown = NULL;
	int error = picture_settings_tree(tree, options, &shown, message);

	if (error)
		return error;
	picture.empty = picture_settings_empty(options, shown ? shown : tree);
	picture_settings(options, &picture);
	results_write(results, shown ? shown : tree, &picture, true, &written);
	calltree_free(shown);
	if (written.failed) {
		if (is_piped && !written.has_stacks)
			rescue(tree, message);
		return -EIO; /* said already */
	}
	if (options->open && !written.show)
		return diag_fail(message, -EINVAL, "nothing to open: no SVG was written to a file");
	return options->open ? opener_start(written.show, message) : 0;
}

static int render(const struct options *options, const char *input, struct diag_message *message)
{
	struct calltree *tree = calltree_new();
	struct results *results = NULL;
	int error;

	if (!tree) {
		error = diag_fail(message, -ENOMEM, "out of memory");
		goto out;
	}
	signals_guard();
	error = refuse_picture(input, message);
	if (!error)
		error = results_open(&results, options, false, message);
	if (!error)
		error = read_stacks(tree, input, message);
	if (!error)
		error = draw(options, tree, !strcmp(input, "-"), results, message);
out:
	results_free(results);
	calltree_free(tree);
	return error;
}

struct ending command_render(struct options *options, int argc, char **argv, int index)
{
	struct diag_message message = {0};
	const char *input;
	int error = parse(options, argc, argv, index, &input, &message);

	diag_set_level(options->level);
	if (!error && options->action != OPTIONS_RUN)
		return command_tell(options);
	if (!error)
		error = command_settle(options, &message);
	if (!error)
		error = render(options, input, &message);
	if (message.text[0])
		diag_report(&message);
	return (struct ending){.status = error ? COMMAND_FAILED : 0};
}
