/* SPDX-License-Identifier: MIT */
/*
 * flamerun diff: print and draw what became slower or faster between two versions of a program.
 *
 *   flamerun diff OLD NEW
 *   flamerun diff BOTH		(a file with two counts per line, of difffolded.pl)
 *   flamerun diff OLD... -- NEW...
 *   flamerun diff -n 10 -- old-program argument... --- new-program argument...
 */
#include "cli/command.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/change_text.h"
#include "cli/compare/changes.h"
#include "cli/compare/sides.h"
#include "cli/compare/turns.h"
#include "cli/formats/format.h"
#include "cli/run/results.h"
#include "cli/run/signals.h"
#include "cli/store/address.h"

/* Exit status if a function became slower than --fail-over allows. */
#define STATUS_SLOWER 1

/* Separates the two programs. "--" could not, because it may be an argument of a program. */
#define BETWEEN_PROGRAMS "---"

struct request {
	/*
	 * Owned list of borrowed strings: files of the old version, then files of the new version.
	 */
	const char **paths;
	unsigned count, old_count; /* of @paths */
	/* The old and the new program, each with its arguments. NULL if files are compared. */
	char **programs[2];
	/* Set for one file with two counts per line. @paths then names that file twice. */
	bool has_versions;
	bool are_stores;   /* addresses of stores, not files */
};

/* ---- words ----------------------------------------------------------------------------------- */

#define WANTS_FILES "diff wants files of two versions, -- between"

static int refuse_words(struct diag_message *message, const char *why)
{
	diag_fail(message, -EINVAL, "%s", why);
	diag_fail_hint(message, "flamerun diff OLD... -- NEW..., or "
				"flamerun diff -n 10 -- ./old argument --- ./new argument");
	return -EINVAL;
}

/* Split the words after "--" (NULL at the end) into two programs: replace "---" by NULL. */
static int split_programs(struct request *request, char **argv, struct diag_message *message)
{
	char **between = argv;

	while (*between && strcmp(*between, BETWEEN_PROGRAMS))
		between++;
	if (between == argv || !*between || !between[1])
		return refuse_words(
			message, "diff -n wants two programs, " BETWEEN_PROGRAMS " between");
	*between = NULL;
	request->programs[0] = argv;
	request->programs[1] = between + 1;
	return 0;
}

static int check_files(
	struct request *request, const struct options *options, struct diag_message *message)
{
	if (options->runs)
		return refuse_words(message, "diff -n wants two programs behind --");
	for (unsigned i = 0; i < request->count; i++) {
		if (i && store_address_is(request->paths[i]) != request->are_stores)
			return refuse_words(message, "diff compares files, or stores, not both");
		request->are_stores = store_address_is(request->paths[i]);
	}
	if (!request->old_count && request->count == 1) {
		request->has_versions = true;
		request->paths[request->count++] = request->paths[0];
	}
	if (!request->old_count && request->count == 2)
		request->old_count = 1;
	if (!request->old_count || request->old_count == request->count)
		return refuse_words(message, WANTS_FILES);
	return 0;
}

/* Does @argv have "---" before any "--"? If so, a parse error is reported as a misplaced "---". */
static bool has_separator(char **argv)
{
	while (*argv && strcmp(*argv, "--") && strcmp(*argv, BETWEEN_PROGRAMS))
		argv++;
	return *argv && !strcmp(*argv, BETWEEN_PROGRAMS);
}

/* Parse files and options, which may be mixed. "--" separates old files from new files. */
static int parse_words(struct request *request, struct options *options, int argc, char **argv,
	int index, struct diag_message *message)
{
	bool has_dashes = false;
	int error, first;

	for (;;) {
		first = index;
		error = options_parse(options, argc, argv, &index, message);
		if (error && has_separator(argv + first))
			return refuse_words(message, BETWEEN_PROGRAMS
				" stands between two programs, which follow -n N --");
		if (error || options->action != OPTIONS_RUN)
			return error;
		if (options->ended_by_dashes) {
			options->ended_by_dashes = false;
			if (options->runs && !request->count)
				return split_programs(request, argv + index, message);
			if (has_dashes)
				return refuse_words(
					message, "diff compares two versions, not three");
			has_dashes = true;
			request->old_count = request->count;
			continue;
		}
		if (index == argc)
			break;
		request->paths[request->count++] = argv[index++];
	}
	if (has_dashes && !request->old_count)
		return refuse_words(message, WANTS_FILES);
	return check_files(request, options, message);
}

/* ---- --fail-over ----------------------------------------------------------------------------- */

struct threshold {
	/* NULL if the threshold is for all functions and the whole program. */
	struct picture_expressions *expressions;
	struct transform_matcher matcher;
	double percent;
};

static int threshold_init(
	struct threshold *threshold, const char *text, struct diag_message *message)
{
	const char *equals = strrchr(text, '='), *number = equals ? equals + 1 : text;
	struct options_list list = {.count = equals != NULL};
	char *end, *expression = strndup(text, equals ? (size_t)(equals - text) : 0);
	int error = expression ? 0 : diag_fail(message, -ENOMEM, "out of memory");

	*threshold = (struct threshold){.percent = strtod(number, &end)};
	if (!error && (!*number || number[strspn(number, "0123456789.")] || *end || equals == text))
		error = diag_fail(message, -EINVAL,
			"--fail-over wants PERCENT or REGEX=PERCENT, not '%s'", text);
	list.item[0] = expression;
	if (!error)
		error = picture_expressions_new(
			&threshold->expressions, "fail-over", &list, &threshold->matcher, message);
	free(expression);
	return error;
}

static bool is_over(const struct threshold *threshold, const struct changes *changes,
	const struct change *change)
{
	if (!change->is_significant || change->shift.change <= 0 ||
		100 * expm1(change->shift.change) <= threshold->percent)
		return false;
	if (!threshold->expressions)
		return true;
	return change->function != UINT32_MAX &&
	       threshold->matcher.match(ranking_frame(&changes->sides->ranking, change->function),
		       threshold->matcher.context);
}

/*
 * For each --fail-over, report the first change that exceeds its limit. If @changes is NULL, only
 * check the syntax. Returns 1 if a limit is exceeded, 0 if no limit is, or -errno with @message
 * filled.
 */
static int check_thresholds(
	const struct options *options, const struct changes *changes, struct diag_message *message)
{
	bool is_any = false;

	for (unsigned i = 0; i < options->fail_over.count; i++) {
		const char *text = options->fail_over.item[i];
		struct threshold threshold;
		char how[CHANGE_TEXT_BYTES];
		int error = threshold_init(&threshold, text, message);

		if (error)
			return error;
		for (size_t k = 0; changes && k < changes->count; k++) {
			if (!is_over(&threshold, changes, &changes->at[k]))
				continue;
			change_text_part(&changes->at[k], how);
			diag_error("%s is slower: %s, --fail-over %s",
				change_text_name(changes, &changes->at[k]), how, text);
			is_any = true;
			break;
		}
		picture_expressions_free(threshold.expressions);
	}
	return is_any;
}

/* ---- the picture ----------------------------------------------------------------------------- */

struct painting {
	const struct changes *changes;
	char text[CHANGE_TEXT_BYTES];
};

/* Returns the index of @frame's function, or UINT32_MAX. Functions are sorted by name. */
static uint32_t find_function(const struct ranking *ranking, const struct calltree_frame *frame)
{
	uint32_t low = 0, high = ranking->functions;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct calltree_frame *other = ranking_frame(ranking, middle);
		int order = strcmp(frame->name, other->name);

		if (!order)
			order = strcmp(frame->module, other->module);
		if (!order)
			return middle;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return UINT32_MAX;
}

static enum picture_verdict judge(const struct calltree_frame *frame, void *context)
{
	const struct painting *painting = context;
	const struct changes *changes = painting->changes;
	uint32_t function = find_function(&changes->sides->ranking, frame), number;
	const struct change *change;

	if (function == UINT32_MAX || !(number = changes->of_function[function]))
		return PICTURE_INSIGNIFICANT;
	change = &changes->at[number - 1];
	if (!change->is_significant)
		return PICTURE_INSIGNIFICANT;
	if (change_is_new(change))
		return PICTURE_NEW;
	if (change_is_gone(change))
		return PICTURE_GONE;
	if (change->shift.change > 0)
		return change->is_named ? PICTURE_SLOWER : PICTURE_SLOWER_BY_OTHERS;
	return change->is_named ? PICTURE_FASTER : PICTURE_FASTER_BY_OTHERS;
}

static const char *explain(const struct calltree_frame *frame, void *context)
{
	struct painting *painting = context;
	uint32_t function = find_function(&painting->changes->sides->ranking, frame);

	painting->text[0] = '\0';
	if (function != UINT32_MAX)
		change_text_of(painting->changes, function, painting->text);
	return painting->text;
}

static int write_picture(const struct options *options, struct results *results,
	const struct sides *sides, const struct changes *changes, struct diag_message *message)
{
	struct painting painting = {.changes = changes};
	const struct picture_verdicts verdicts = {judge, explain, &painting,
		{sides_scale(sides, 0), sides_scale(sides, sides->old_runs)}};
	const struct input_facts *facts = &sides->input.facts;
	char runs[160], others[64] = "", subtitle[PICTURE_SUBTITLE_BYTES];
	struct picture_options picture = {
		.title = "What changed",
		.subtitle = subtitle,
		.verdicts = &verdicts,
		.period_ns = facts->period_ns,
		.count_name = facts->count_name[0] ? facts->count_name : NULL,
		.type_name = facts->type_name[0] ? facts->type_name : NULL,
		.created_s = facts->created_s,
		.empty = picture_trees_empty(&sides->trees),
	};
	struct results_written written;

	if (!changes->named && changes->others)
		snprintf(others, sizeof(others), ", %zu by renaming or inlining", changes->others);
	snprintf(runs, sizeof(runs), "%u old run%s and %u new, %zu change%s%s", sides->old_runs,
		sides->old_runs == 1 ? "" : "s", sides->runs - sides->old_runs, changes->named,
		changes->named == 1 ? "" : "s", others);
	picture_trees_subtitle(&sides->trees, options, runs, subtitle);
	picture_trees_settings(&sides->trees, &picture);
	picture_settings(options, &picture);
	/* Show messages of results_write(). The level was lowered for reading the files. */
	diag_set_level(options->level);
	results_write(results, sides->trees.shown, &picture, true, &written);
	if (written.failed)
		return -EIO; /* reported already */
	if (!options->open)
		return 0;
	if (!written.show)
		return diag_fail(message, -EINVAL, "nothing to open: no SVG was written to a file");
	return opener_start(written.show, message);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool is_given(const struct options *options, const char *name)
{
	return options_origin(options, options_find(name, strlen(name)))->rank ==
	       OPTIONS_COMMAND_LINE;
}

static bool has_outputs(const struct options *options)
{
	return is_given(options, "output");
}

static bool writes_to_stdout(const struct options *options)
{
	for (unsigned i = 0; has_outputs(options) && i < options->outputs.count; i++)
		if (!strcmp(options->outputs.item[i], "-"))
			return true;
	return false;
}

/* Print the table of changes, or JSON. Returns 0, or -errno of writing to standard output. */
static int print_changes(
	const struct options *options, const struct changes *changes, struct diag_message *message)
{
	int error;

	if (writes_to_stdout(options))
		return 0;
	errno = 0;
	if (options->json)
		error = change_text_put_json(changes, options->limit, stdout);
	else
		error = change_text_put(changes, options->limit, stdout);
	return diag_end_stdout(error, message);
}

static int compare_files(const struct options *options, const struct sides_files *files,
	struct results *results, struct ending *ending, struct diag_message *message)
{
	struct sides sides = {.runs = 0};
	struct changes changes = {.sides = NULL};
	int error = sides_read(&sides, options, files, message);

	if (!error) {
		error = changes_find(&changes, &sides);
		if (error)
			diag_fail(message, error, "cannot compare: %s", strerror(-error));
	}
	if (!error)
		error = print_changes(options, &changes, message);
	if (!error && results)
		error = write_picture(options, results, &sides, &changes, message);
	if (!error) {
		error = check_thresholds(options, &changes, message);
		ending->status = error > 0 ? STATUS_SLOWER : 0;
	}
	changes_release(&changes);
	sides_release(&sides);
	return error < 0 ? error : 0;
}

static int run_programs(const struct request *request, const struct options *options,
	struct results *results, struct ending *ending, struct diag_message *message)
{
	struct turns turns;
	int error = turns_run(&turns, options, request->programs, message);
	unsigned runs = turns.runs[0] + turns.runs[1];

	if (!error && turns.signal && (!turns.runs[0] || !turns.runs[1]))
		error = diag_fail(message, -EINTR, "ended before each program had run");
	else if (!error && turns.signal)
		diag_info("ended after %u of %u runs, which are compared", runs, 2 * options->runs);
	if (!error) {
		/*
		 * Print nothing about the runs' files: they are temporary and unknown to the user.
		 */
		diag_set_level(options->level == DIAG_VERBOSE ? DIAG_VERBOSE : DIAG_QUIET);
		error = compare_files(options,
			&(struct sides_files){turns.files, runs, turns.runs[0],
				{request->programs[0][0], request->programs[1][0]}, false, false},
			results, ending, message);
		diag_set_level(options->level);
	}
	if (turns.signal)
		ending->signal = turns.signal;
	else if (turns.status)
		ending->status = turns.status;
	turns_release(&turns);
	return error;
}

static int check_diff(const struct options *options, bool runs, struct diag_message *message)
{
	int error = options_check_command(options, "diff", false, true, runs, message);

	/* Refuse an empty limit: an unset shell variable must not disable the check. */
	if (!error && is_given(options, "fail-over") && !options->fail_over.count)
		error = diag_fail(message, -EINVAL, "--fail-over wants PERCENT or REGEX=PERCENT");
	if (!error && is_given(options, "open") && options->open && !has_outputs(options))
		error = diag_fail(message, -EINVAL, "nothing to open: diff draws with -o FILE.svg");
	if (!error && options->pids)
		error = diag_fail(
			message, -EINVAL, "diff -n runs programs, and samples none that run");
	for (unsigned i = 0; !error && has_outputs(options) && i < options->outputs.count; i++) {
		const struct format *format = format_of(options->outputs.item[i], options->format);

		if (store_address_is(options->outputs.item[i]))
			return diag_fail(
				message, -EINVAL, "a store keeps profiles, not comparisons");
		if (format && !format_is_picture(format) && !format_is_folded(format)) {
			diag_fail(message, -EINVAL,
				"diff writes pictures and folded stacks, not '%s'",
				options->outputs.item[i]);
			diag_fail_hint(message, "stacks together: flamerun merge; numbers: --json");
			return -EINVAL;
		}
	}
	if (!error && (strstr(options->by, "module") || strstr(options->by, "line") ||
			      picture_by_file(options)))
		error = diag_fail(message, -EINVAL,
			"diff compares functions, with --by process a root for each version");
	return error ? error : check_thresholds(options, NULL, message);
}

static int diff(const struct options *options, void *context, struct ending *ending,
	struct diag_message *message)
{
	const struct request *request = context;
	struct results *results = NULL;
	bool runs = request->programs[0] != NULL;
	int error = check_diff(options, runs, message);

	if (!error) {
		if (!runs)
			signals_guard();
		if (has_outputs(options))
			error = results_open(&results, options, false, message);
	}
	if (!error && runs)
		error = run_programs(request, options, results, ending, message);
	else if (!error)
		error = compare_files(options,
			&(struct sides_files){.paths = request->paths,
				.runs = request->count,
				.old_runs = request->old_count,
				.has_versions = request->has_versions,
				.are_stores = request->are_stores},
			results, ending, message);
	if (error == -ENODATA && request->has_versions)
		refuse_words(message, WANTS_FILES);
	results_free(results);
	return error;
}

struct ending command_diff(struct options *options, int argc, char **argv, int index)
{
	struct diag_message message = {0};
	struct request request = {.paths = calloc((size_t)argc + 1, sizeof(*request.paths))};
	struct ending ending;
	int error = request.paths ? parse_words(&request, options, argc, argv, index, &message)
				  : diag_fail(&message, -ENOMEM, "out of memory");

	ending = command_finish(options, error, diff, &request, &message);
	free(request.paths);
	return ending;
}
