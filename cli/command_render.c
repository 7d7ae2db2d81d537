/* SPDX-License-Identifier: MIT */
/*
 * flamerun render: folded stacks, a pprof profile or a picture in, pictures out. No program is run.
 */
#include "cli/command.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "cli/formats/input.h"
#include "cli/picture_settings.h"
#include "cli/run/results.h"
#include "cli/run/signals.h"
#include "libprof/pprof/protobuf.h"

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
		diag_fail(message, -EINVAL,
			"render wants folded stacks, a pprof profile or a picture of flamerun's");
		diag_fail_hint(message, "flamerun render stacks.folded -o flame.svg");
		return -EINVAL;
	}
	if (options->run_only)
		return diag_fail(message, -EINVAL,
			"--%s means nothing to render: it runs no program", options->run_only);
	return 0;
}

/* What a profile says of itself, below what the options say. */
static void apply_facts(struct picture_options *picture, const struct input_facts *facts)
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
	if (!picture.empty && input->facts.empty[0])
		picture.empty = input->facts.empty;
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

/* Did somebody ask for what the row called @name sets? */
static bool is_asked_for(const struct options *options, const char *name)
{
	return options_origin(options, options_find(name, strlen(name)))->rank != OPTIONS_BUILT_IN;
}

/* A picture is drawn again as it was, but for what other options ask for. */
static void apply_view(struct options *options, const struct input_facts *facts)
{
	static const char *const groups[2][2] = {{NULL, "thread"}, {"process", "process,thread"}};

	if (!facts->has_view)
		return;
	if (!is_asked_for(options, "palette"))
		options->palette = facts->palette;
	if (!is_asked_for(options, "icicle"))
		options->direction = facts->direction;
	if (!is_asked_for(options, "reverse"))
		options->reverse = facts->is_reversed;
	if (!is_asked_for(options, "by") && !is_asked_for(options, "threads"))
		options->by = groups[facts->by_process][facts->by_thread];
	if (!is_asked_for(options, "fold-idle"))
		options->no_fold_idle = !facts->has_idle;
	if (!is_asked_for(options, "wall") && !options->sample_type) {
		options->wall = facts->times == CALLTREE_TIMES_BOTH;
		if (facts->times == CALLTREE_TIMES_WAITS)
			options->sample_type = PPROF_WAITING_TIME;
	}
}

static int render_file(
	const struct options *options, const char *path, struct diag_message *message)
{
	struct options drawn = *options;
	struct input input = {.path = NULL};
	struct results *results = NULL;
	int error;

	signals_guard();
	error = results_open(&results, options, false, message);
	if (!error)
		error = input_read(&input, path, options->sample_type, message);
	if (!error) {
		apply_view(&drawn, &input.facts);
		error = draw_input(&drawn, &input, results, message);
	}
	results_free(results);
	input_release(&input);
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
