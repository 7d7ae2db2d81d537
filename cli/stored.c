/* SPDX-License-Identifier: MIT */
/*
 * Read stored profiles for render, merge and top. The picture of a single file keeps the file's
 * view settings, time line and marks. Several files are merged.
 */
#include "cli/stored.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/formats/format.h"
#include "cli/formats/merge_files.h"
#include "libprof/pprof/protobuf.h"

/* ---- words ----------------------------------------------------------------------------------- */

static const struct {
	const char *name, *wants, *example;
} commands[] = {
	[STORED_RENDER] = {"render",
		"a file of stacks: folded, or of pprof, speedscope, perf or flamerun",
		"flamerun render stacks.folded -o flame.svg"},
	[STORED_MERGE] = {"merge",
		"files of stacks: folded, or of pprof, speedscope, perf or flamerun",
		"flamerun merge one.svg two.svg -o both.svg"},
	[STORED_TOP] = {"top",
		"a file of stacks: folded, or of pprof, speedscope, perf or flamerun",
		"flamerun top flame.svg"},
};

int stored_parse(struct options *options, enum stored_command command, int argc, char **argv,
	int index, struct stored_files *files, struct diag_message *message)
{
	const char *name = commands[command].name;
	int error = 0;

	*files = (struct stored_files){.paths = calloc((size_t)argc + 1, sizeof(*files->paths)),
		.can_be_several = command == STORED_MERGE};
	if (!files->paths)
		return diag_fail(message, -ENOMEM, "out of memory");
	for (;;) {
		if (!options->ended_by_dashes)
			error = options_parse(options, argc, argv, &index, message);
		if (error)
			return error;
		if (index == argc)
			break;
		if (files->count && !files->can_be_several)
			return diag_fail(message, -EINVAL, "%s takes one file, not also '%s'", name,
				argv[index]);
		files->paths[files->count++] = argv[index++];
	}
	if (options->action != OPTIONS_RUN)
		return 0;
	if (!files->count) {
		diag_fail(message, -EINVAL, "%s wants %s", name, commands[command].wants);
		diag_fail_hint(message, "%s", commands[command].example);
		return -EINVAL;
	}
	return options_check_command(options, name, command == STORED_TOP, false, false, message);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Are all outputs pprof profiles, which hold all values of a profile that is read? */
static bool writes_profiles(const struct options *options)
{
	for (unsigned i = 0; i < options->outputs.count; i++) {
		const struct format *format = format_of(options->outputs.item[i], options->format);

		if (!format || !format_is_pprof(format))
			return false;
	}
	return options->outputs.count > 0;
}

/*
 * Returns how to read @files. For several runs, do not select the sample type "wait", because the
 * file of a run that never waited lacks it. Trees of CPU time contain the waits, too.
 */
static struct input_request request_of(
	const struct options *options, const struct stored_files *files)
{
	struct input_request request = picture_input(options);

	if (files->are_runs && request.sample_type &&
		!strcmp(request.sample_type, PPROF_WAITING_TIME))
		request.sample_type = NULL;
	request.keeps_types =
		files->count == 1 && !options->sample_type && writes_profiles(options);
	return request;
}

static int read_merged(struct input *out, const struct options *options,
	const struct stored_files *files, struct diag_message *message)
{
	struct merge merge = {.part = files->are_runs ? "run" : NULL};
	const struct input_request request = request_of(options, files);
	int error = merge_files(&merge, files->paths, (unsigned)files->count, &request,
		picture_by_file(options), message);

	if (!error)
		error = merge_end(&merge, out, message);
	merge_release(&merge);
	return error;
}

/* ---- trees and texts ------------------------------------------------------------------------- */

/* Copy the file's title, marks and other facts. picture_settings() then applies the options. */
static void apply_facts(struct picture_options *picture, const struct input_facts *facts)
{
	if (facts->title[0])
		picture->title = facts->title;
	if (facts->notes[0])
		picture->notes = facts->notes;
	if (facts->count_name[0])
		picture->count_name = facts->count_name;
	if (facts->type_name[0])
		picture->type_name = facts->type_name;
	picture->marks = facts->marks;
	picture->mark_count = facts->mark_count;
	picture->period_ns = facts->period_ns;
	picture->duration_ns = facts->duration_ns;
	picture->created_s = facts->created_s;
}

/* Set the options that were not given to the values with which the file was drawn before. */
static void apply_view(struct options *options, const struct input_facts *facts)
{
	static const char *const groups[2][2] = {{NULL, "thread"}, {"process", "process,thread"}};

	if (!facts->has_view)
		return;
	if (!options_is_said(options, "palette"))
		options->palette = facts->palette;
	if (!options_is_said(options, "icicle"))
		options->direction = facts->direction;
	if (!options_is_said(options, "reverse"))
		options->reverse = facts->is_reversed;
	if (!options_is_said(options, "by") && !options_is_said(options, "threads"))
		options->by = groups[facts->by_process][facts->by_thread];
	if (!options_is_said(options, "fold-idle"))
		options->no_fold_idle = !facts->has_idle;
	if (!options_is_said(options, "wall") && !options->sample_type) {
		options->wall = facts->times == CALLTREE_TIMES_BOTH;
		if (facts->times == CALLTREE_TIMES_WAITS)
			options->sample_type = PPROF_WAITING_TIME;
	}
}

static int make_trees(struct stored *stored, struct diag_message *message)
{
	const struct input *input = &stored->input;
	/*
	 * If the file has no waiting stacks, "wait" is only the name of its sample type. Draw its
	 * stacks as if they were CPU time.
	 */
	enum calltree_times times =
		calltree_waits(input->tree) ? picture_times(&stored->options) : CALLTREE_TIMES_CPU;
	int error = picture_trees_make(&stored->trees, input->tree, &stored->options, times,
		input_count_name(&input->facts), "", message);

	if (!error && calltree_total(input->other))
		error = picture_trees_make(&stored->other, input->other, &stored->options,
			CALLTREE_TIMES_CPU, "samples", input->facts.other_name, message);
	for (unsigned i = 0; !error && i < INPUT_TYPES_MAX && input->kept[i]; i++)
		error = picture_trees_make(&stored->kept[i], input->kept[i], &stored->options,
			CALLTREE_TIMES_CPU, NULL, "", message);
	return error;
}

static void describe(struct stored *stored)
{
	struct picture_options *picture = &stored->picture;
	const struct input_facts *facts = &stored->input.facts;

	picture->empty = picture_trees_empty(&stored->trees);
	if (!picture->empty && facts->empty[0])
		picture->empty = facts->empty;
	apply_facts(picture, facts);
	picture_trees_subtitle(&stored->trees, &stored->options, facts->subtitle, stored->subtitle);
	picture->subtitle = stored->subtitle;
	picture_trees_filters(&stored->trees, &stored->options, facts->filters, stored->filters);
	picture->filters = stored->filters;
	picture_trees_settings(&stored->trees, picture);
	picture->other = stored->other.filtered;
	picture->other_name = facts->other_name;
	for (unsigned i = 0; i < INPUT_TYPES_MAX && stored->input.kept[i]; i++)
		stored->values[picture->kept_count++] = (struct picture_values){
			stored->kept[i].filtered, facts->unread[i].name, facts->unread[i].unit};
	picture->kept = stored->values;
	/*
	 * The spread of functions is valid only for the stacks in the file, so drop it if filters
	 * or times changed them.
	 */
	if (stored->trees.filtered == stored->trees.whole && stored->trees.times == facts->times)
		picture->spread = facts->spread;
	picture->ranks = facts->ranks;
	picture_settings(&stored->options, picture);
}

int stored_read(struct stored *stored, const struct options *options,
	const struct stored_files *files, bool is_turned, struct diag_message *message)
{
	const struct input_request request = request_of(options, files);
	int error;

	*stored = (struct stored){.options = *options};
	if (files->count == 1 && !picture_by_file(options))
		error = input_read(&stored->input, files->paths[0], &request, message);
	else
		error = read_merged(&stored->input, options, files, message);
	if (error)
		return error;
	if (files->count == 1)
		input_report_empty(&stored->input);
	apply_view(&stored->options, &stored->input.facts);
	if (!is_turned)
		stored->options.reverse = 0;
	error = make_trees(stored, message);
	if (!error)
		describe(stored);
	return error;
}

void stored_release(struct stored *stored)
{
	for (unsigned i = 0; i < INPUT_TYPES_MAX; i++)
		picture_trees_release(&stored->kept[i]);
	picture_trees_release(&stored->other);
	picture_trees_release(&stored->trees);
	input_release(&stored->input);
}
