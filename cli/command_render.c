/* SPDX-License-Identifier: MIT */
/*
 * flamerun render: folded stacks in, pictures out. No program is run.
 */
#include "cli/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/formats/folded.h"
#include "cli/run/outputs.h"
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
	if (!calltree_total(tree)) {
		diag_fail(message, -ENODATA, "'%s' has no folded stacks", name);
		diag_fail_hint(message, "each line is \"outer;inner weight\"");
		return -ENODATA;
	}
	return 0;
}

static int render(const struct options *options, const char *input, struct diag_message *message)
{
	const struct picture_options picture = {.title = options->title};
	struct calltree *tree = calltree_new();
	struct outputs *outputs = NULL;
	int error;

	if (!tree) {
		error = diag_fail(message, -ENOMEM, "out of memory");
		goto out;
	}
	signals_guard();
	error = outputs_open(&outputs, options->outputs.path, options->outputs.count, message);
	if (!error)
		error = read_stacks(tree, input, message);
	if (!error && results_write(tree, &picture, options, outputs))
		error = -EIO; /* said already */
out:
	outputs_free(outputs);
	calltree_free(tree);
	return error;
}

struct ending command_render(struct options *options, int argc, char **argv, int index)
{
	struct diag_message message = {0};
	const char *input;
	int error = parse(options, argc, argv, index, &input, &message);

	diag_set_level(options->level);
	options_finish(options);
	if (!error && options->action != OPTIONS_RUN)
		return command_tell(options->action);
	if (!error)
		error = render(options, input, &message);
	if (message.text[0])
		diag_report(&message);
	return (struct ending){.status = error ? COMMAND_FAILED : 0};
}
