/* SPDX-License-Identifier: MIT */
/*
 * flamerun render: folded stacks or a pprof profile in, pictures out. No program is run.
 */
#include "cli/command.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/formats/folded.h"
#include "cli/formats/format.h"
#include "cli/formats/pprof.h"
#include "cli/picture_settings.h"
#include "cli/run/results.h"
#include "cli/run/signals.h"

/* Options may stand on both sides of the one operand. Returns it in *@input. */
static int parse_operands(struct options *options, int argc, char **argv, int index,
	const char **input, struct diag_message *message)
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
		diag_fail(message, -EINVAL, "render wants folded stacks or a pprof profile");
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
	const struct format *format = format_by_ending(path);

	if (!format || format->has_stacks)
		return 0;
	diag_fail(message, -EINVAL, "render draws stacks, which '%s' does not hold", path);
	diag_fail_hint(message,
		"write them beside the picture: flamerun -o run.svg -o run.folded -- program");
	return -EINVAL;
}

/* What is drawn: the stacks, and what their file says of them. */
struct input {
	const char *path;
	const char *name; /* the same for messages */
	struct calltree *tree, *other; /* of another kind of time; empty where there is none */
	struct pprof_facts facts; /* all zero for folded stacks */
	struct folded_bad bad;
};

/* The first byte made it likely; @is_sure: so did the name. */
static int read_profile(struct input *input, FILE *in, const struct options *options, bool is_sure,
	struct diag_message *message)
{
	void *bytes = NULL;
	size_t count = 0;
	FILE *text = NULL;
	int error = pprof_load(in, input->name, &bytes, &count, message);

	if (error)
		return error;
	if (is_sure || pprof_is_profile(bytes, count)) {
		error = pprof_read(input->tree, bytes, count, input->name, options->sample_type,
			&input->facts, message);
		if (!error && input->facts.other_name[0])
			error = pprof_read_other(input->other, bytes, count, input->name,
				&input->facts, message);
	} else if (!(text = fmemopen(bytes, count, "r"))) {
		error = diag_fail(message, -errno, "cannot read '%s': %s", input->name,
			strerror(errno));
	} else {
		error = folded_read(input->tree, text, input->name, &input->bad, message);
		fclose(text);
	}
	free(bytes);
	return error;
}

/* By the name where it tells, else by how it begins. */
static int read_either(struct input *input, FILE *in, const struct options *options,
	struct diag_message *message)
{
	const struct format *format = format_by_ending(input->path);
	int first = getc(in);

	if (first != EOF)
		ungetc(first, in);
	else if (ferror(in)) /* reading on would not tell why */
		return diag_fail(message, -errno, "cannot read '%s': %s", input->name,
			strerror(errno));
	if (format && format_is_pprof(format))
		return read_profile(input, in, options, true, message);
	if (first == PPROF_FIRST_GZIP || first == PPROF_FIRST_PLAIN)
		return read_profile(input, in, options, false, message);
	return folded_read(input->tree, in, input->name, &input->bad, message);
}

static int read_stacks(struct input *input, const struct options *options,
	struct diag_message *message)
{
	FILE *in = strcmp(input->path, "-") ? fopen(input->path, "re") : stdin;
	int error;

	input->name = strcmp(input->path, "-") ? input->path : "standard input";
	if (!in)
		return diag_fail(message, -errno, "cannot open '%s': %s", input->name,
			strerror(errno));
	error = read_either(input, in, options, message);
	if (in != stdin)
		fclose(in);
	if (error)
		return error;
	error = calltree_finish(input->tree);
	if (!error)
		error = calltree_finish(input->other);
	if (error)
		return diag_fail(message, error, "cannot read '%s': %s", input->name,
			strerror(-error));
	if (input->bad.count)
		diag_info("'%s': %" PRIu64
			  " line%s not \"stack weight\" and left out, the first is "
			  "line %" PRIu64,
			input->name, input->bad.count, input->bad.count == 1 ? " is" : "s are",
			input->bad.first);
	if (calltree_total(input->other) && !options->sample_type)
		diag_info("'%s' has time of another kind as well: --sample-type %s draws it",
			input->name, input->facts.other_name);
	/* As flamerun itself writes it when a program was too short. */
	if (!calltree_total(input->tree))
		diag_info("'%s' %s: nothing is in the picture", input->name,
			input->bad.stacks ? "has only counts of 0" : "is empty");
	return 0;
}

/* What a profile says of itself, below what the options say. */
static void apply_facts(struct picture_options *picture, const struct pprof_facts *facts)
{
	if (facts->title[0])
		picture->title = facts->title;
	if (facts->notes[0])
		picture->notes = facts->notes;
	if (facts->count_name[0])
		picture->count_name = facts->count_name;
	if (facts->time_name[0])
		picture->time_name = facts->time_name;
	picture->marks = facts->marks;
	picture->mark_count = facts->mark_count;
	picture->period_ns = facts->period_ns;
	picture->duration_ns = facts->duration_ns;
	picture->created_s = facts->created_s;
}

/*
 * What came through a pipe and could not be written is gone with us, unless it is put somewhere.
 * Not when all that failed is a reader that went away, as head(1) does: who ends a pipeline early
 * wants no files from it.
 */
static void rescue_stacks(const struct input *input, const struct results_written *written,
	struct diag_message *message)
{
	const struct calltree *tree = input->tree;
	char path[PATH_MAX];

	if (strcmp(input->path, "-") || written->has_stacks || !calltree_total(tree) ||
		written->failed == written->unread)
		return;
	if (results_rescue(tree, path, message))
		return;
	diag_fail(message, -EIO, "the stacks are in '%s'", path);
}

static int draw_input(const struct options *options, const struct input *input,
	struct results *results, struct diag_message *message)
{
	struct picture_options picture = {0};
	struct results_written written;
	struct picture_trees trees, other = {.whole = NULL};
	char subtitle[PICTURE_SUBTITLE_BYTES], filters[PICTURE_FILTERS_BYTES];
	/* Without waits "wait" is a sample type like others. */
	enum calltree_times times =
		calltree_waits(input->tree) ? picture_times(options) : CALLTREE_TIMES_CPU;
	int error = picture_trees_make(&trees, input->tree, options, times, "", message);

	if (error)
		return error;
	if (calltree_total(input->other))
		error = picture_trees_make(&other, input->other, options, CALLTREE_TIMES_CPU,
			input->facts.other_name, message);
	if (error) {
		picture_trees_release(&trees);
		return error;
	}
	picture.empty = picture_trees_empty(&trees);
	apply_facts(&picture, &input->facts);
	picture_trees_subtitle(&trees, options, input->facts.subtitle, subtitle);
	picture.subtitle = subtitle;
	picture_trees_filters(&trees, options, input->facts.filters, filters);
	picture.filters = filters;
	picture_trees_settings(&trees, &picture);
	picture.other = other.filtered;
	picture.other_name = input->facts.other_name;
	picture_settings(options, &picture);
	results_write(results, trees.shown, &picture, true, &written);
	picture_trees_release(&trees);
	picture_trees_release(&other);
	if (written.failed) {
		rescue_stacks(input, &written, message);
		return -EIO; /* said already */
	}
	if (options->open && !written.show)
		return diag_fail(message, -EINVAL, "nothing to open: no SVG was written to a file");
	return options->open ? opener_start(written.show, message) : 0;
}

static int render_file(
	const struct options *options, const char *path, struct diag_message *message)
{
	struct input input = {.path = path, .tree = calltree_new(), .other = calltree_new()};
	struct results *results = NULL;
	int error;

	if (!input.tree || !input.other) {
		error = diag_fail(message, -ENOMEM, "out of memory");
		goto out;
	}
	signals_guard();
	error = refuse_picture(path, message);
	if (!error)
		error = results_open(&results, options, false, message);
	if (!error)
		error = read_stacks(&input, options, message);
	if (!error)
		error = draw_input(options, &input, results, message);
out:
	results_free(results);
	pprof_facts_release(&input.facts);
	calltree_free(input.other);
	calltree_free(input.tree);
	return error;
}

struct ending command_render(struct options *options, int argc, char **argv, int index)
{
	struct diag_message message = {0};
	const char *input;
	int error = parse_operands(options, argc, argv, index, &input, &message);

	diag_set_level(options->level);
	if (!error && options->action != OPTIONS_RUN)
		return command_print(options);
	if (!error)
		error = command_complete(options, &message);
	if (!error)
		error = render_file(options, input, &message);
	if (message.text[0])
		diag_report(&message);
	return (struct ending){.status = error ? COMMAND_FAILED : 0};
}
