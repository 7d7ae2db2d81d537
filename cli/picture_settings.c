/* SPDX-License-Identifier: MIT */
/*
 * Set picture options from command-line options. Make the trees that are drawn: filter stacks by
 * regular expressions, group and reverse them.
 */
#include "cli/picture_settings.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/expression.h"
#include "cli/run/unnamed_code.h"
#include "cli/symbols/demangle.h"
#include "libprof/pprof/protobuf.h"
#include "render/label.h"
#include "render/transform.h"

#define FILTERS_BYTES 200 /* bytes, filters of a picture */

#define ALL_WAITS    "no samples: all of the time was spent waiting, which --wall draws"
#define NOTHING_LEFT "no stacks are left by --focus, --ignore, --root and --hide"

/* The filter options. The index is enum transform_filter. */
static const struct {
	const char *option;
	size_t list;	 /* offset in struct options */
	const char *why; /* why the filter drops stacks */
} filters[TRANSFORM_FILTERS] = {
	[TRANSFORM_FOCUS] = {"focus", offsetof(struct options, focus),
		"no frame of theirs matches --focus"},
	[TRANSFORM_IGNORE] = {"ignore", offsetof(struct options, ignore),
		"a frame of theirs matches --ignore"},
	[TRANSFORM_ROOT] = {"root", offsetof(struct options, root),
		"no frame of theirs matches --root"},
	[TRANSFORM_HIDE] = {"hide", offsetof(struct options, hide), "all their frames are hidden"},
};

static const struct options_list *list_of(const struct options *options, int filter)
{
	return (const void *)((const char *)options + filters[filter].list);
}

/* Returns SOURCE_DATE_EPOCH (see reproducible-builds.org), or @otherwise if it is not valid. */
static int64_t created_s(int64_t otherwise)
{
	const char *text = getenv("SOURCE_DATE_EPOCH");
	char *end;
	long long seconds;

	if (!text || !*text || strspn(text, "0123456789") != strlen(text))
		return otherwise;
	errno = 0;
	seconds = strtoll(text, &end, 10);
	return errno || *end ? otherwise : seconds;
}

struct input_request picture_input(const struct options *options)
{
	return (struct input_request){
		.sample_type = options->sample_type,
		.demangle = demangle_style_of(options->demangle),
		.fetches = distribution_is_asked(options),
	};
}

enum calltree_times picture_times(const struct options *options)
{
	const char *type = options->sample_type;

	if (type && !strcmp(type, PPROF_WAITING_TIME))
		return CALLTREE_TIMES_WAITS;
	return options->wall ? CALLTREE_TIMES_BOTH : CALLTREE_TIMES_CPU;
}

/*
 * A job's profile has its nodes as processes and its ranks as threads, so --by node is by process.
 */
static bool by_process(const struct options *options)
{
	return options_has_word(options->by, "process") || options_has_word(options->by, "node");
}

static bool by_thread(const struct options *options)
{
	return options->threads || options_has_word(options->by, "thread") ||
	       options_has_word(options->by, "rank");
}

bool picture_by_rank(const struct options *options)
{
	return options_has_word(options->by, "rank") || options_has_word(options->by, "node");
}

bool picture_by_file(const struct options *options)
{
	return options_has_word(options->by, "file");
}

int picture_check_groups(
	const struct options *options, bool has_files, struct diag_message *message)
{
	if (options_has_word(options->by, "line") && options_has_word(options->by, "module"))
		return diag_fail(message, -EINVAL, "--by: boxes are lines or modules, not both");
	if (!picture_by_file(options))
		return 0;
	if (!has_files)
		return diag_fail(message, -EINVAL, "--by file is for flamerun merge");
	if (by_process(options) || by_thread(options))
		return diag_fail(message, -EINVAL, "--by file leaves no root to process or thread");
	return 0;
}

void picture_settings(const struct options *options, struct picture_options *picture)
{
	if (options->title)
		picture->title = options->title;
	if (options->subtitle)
		picture->subtitle = options->subtitle;
	if (options->notes)
		picture->notes = options->notes;
	if (options->count_name)
		picture->count_name = options->count_name;
	picture->palette = options->palette;
	picture->font = options->font;
	picture->font_size = options->font_size;
	picture->frame_height = options->frame_height;
	picture->min_width = options->min_width;
	picture->width = options->width;
	picture->direction = options->direction;
	picture->is_reversed = options->reverse != 0;
	picture->by_process = by_process(options) || picture_by_file(options);
	picture->by_thread = by_thread(options);
	picture->whole_names = demangle_style_of(options->demangle) == DEMANGLE_FULL;
	picture->inline_suffix = options->inline_suffix != 0;
	if (options->ground)
		picture->ground = strcmp(options->ground, "dark") ? PICTURE_LIGHT : PICTURE_DARK;
	picture->created_s = created_s(picture->created_s);
}

/* Compiled expressions. A frame matches if at least one of them matches. */
struct picture_expressions {
	struct expression *at[OPTIONS_LIST_MAX];
	bool of_module[OPTIONS_LIST_MAX]; /* also compare it with "[module]" */
	const char *name;		  /* of the option, borrowed */
	bool is_slow;			  /* matching was given up, and this was reported */
	unsigned count;
};

/*
 * Is @expression meant for all functions of a module? A function without a name is shown as
 * "[libz.so.1+0x1234]". An expression that begins with "\[" is also compared with "[libz.so.1]", so
 * that it still matches if debug symbols give the functions names.
 */
static bool is_of_module(const char *expression)
{
	return !strncmp(expression + (*expression == '^'), "\\[", strlen("\\["));
}

/* Only this many bytes of a name are compared, because the time may grow with their square. */
#define MATCHED_BYTES_MAX 4096

static bool is_match(struct picture_expressions *expressions, unsigned i, const char *text)
{
	int found = expression_match(expressions->at[i], text, strnlen(text, MATCHED_BYTES_MAX));

	if (found < 0 && !expressions->is_slow)
		diag_info("--%s: matching takes too long for some names, which count as no match",
			expressions->name);
	expressions->is_slow |= found < 0;
	return found > 0;
}

static int frame_matches(const struct calltree_frame *frame, void *context)
{
	struct picture_expressions *expressions = context;
	char module[NAME_MAX + 3] = "";

	if (*frame->module)
		snprintf(module, sizeof(module), "[%s]", frame->module);
	for (unsigned i = 0; i < expressions->count; i++)
		if (is_match(expressions, i, frame->name) ||
			(expressions->of_module[i] && is_match(expressions, i, module)))
			return 1;
	return 0;
}

static void expressions_release(struct picture_expressions *expressions)
{
	while (expressions->count)
		expression_free(expressions->at[--expressions->count]);
}

/* Compile @list. Returns 0, or -errno with @message filled and nothing to release. */
static int expressions_init(struct picture_expressions *expressions, const char *name,
	const struct options_list *list, struct diag_message *message)
{
	char why[EXPRESSION_WHY_BYTES];

	*expressions = (struct picture_expressions){.name = name};
	for (unsigned i = 0; i < list->count; i++) {
		int error = expression_new(&expressions->at[i], list->item[i], why);

		if (error) {
			expressions_release(expressions);
			return diag_fail(message, error, "--%s: %s '%s'", name, why, list->item[i]);
		}
		expressions->of_module[i] = is_of_module(list->item[i]);
		expressions->count++;
	}
	return 0;
}

int picture_expressions_new(struct picture_expressions **out, const char *name,
	const struct options_list *list, struct transform_matcher *matcher,
	struct diag_message *message)
{
	struct picture_expressions *made = NULL;
	int error = 0;

	if (list->count)
		made = calloc(1, sizeof(*made));
	if (list->count && !made)
		return diag_fail(message, -ENOMEM, "out of memory");
	if (made)
		error = expressions_init(made, name, list, message);
	if (error) {
		free(made);
		return error;
	}
	*out = made;
	if (made)
		*matcher = (struct transform_matcher){.match = frame_matches, .context = made};
	return 0;
}

void picture_expressions_free(struct picture_expressions *expressions)
{
	if (expressions)
		expressions_release(expressions);
	free(expressions);
}

/* Expressions, and matchers for transform_filter(). The index is enum transform_filter. */
struct filtering {
	struct picture_expressions expressions[TRANSFORM_FILTERS];
	struct transform_matcher matchers[TRANSFORM_FILTERS];
};

static void filtering_release(struct filtering *filtering)
{
	for (int i = 0; i < TRANSFORM_FILTERS; i++)
		expressions_release(&filtering->expressions[i]);
}

/*
 * Compile the expressions of all filters into @filtering, which is all zero. Returns 0, or -errno
 * with @message filled and nothing to release.
 */
static int filtering_init(
	struct filtering *filtering, const struct options *options, struct diag_message *message)
{
	for (int i = 0; i < TRANSFORM_FILTERS; i++) {
		struct picture_expressions *expressions = &filtering->expressions[i];
		int error = expressions_init(
			expressions, filters[i].option, list_of(options, i), message);

		if (error) {
			filtering_release(filtering);
			return error;
		}
		if (expressions->count)
			filtering->matchers[i] = (struct transform_matcher){
				.match = frame_matches, .context = expressions};
	}
	return 0;
}

static void report_left_out(
	const uint64_t left_out[TRANSFORM_FILTERS], const char *unit, const char *of)
{
	bool is_sample = !strcmp(unit, "samples");
	char count[32];

	for (int i = 0; i < TRANSFORM_FILTERS; i++) {
		if (!left_out[i])
			continue;
		count_text(count, sizeof(count), left_out[i]);
		diag_info("%s %s%s%s left out: %s", count,
			is_sample && left_out[i] == 1 ? "sample" : unit, *of ? " of " : "", of,
			filters[i].why);
	}
}

/* Apply the filters. Returns 0 and an owned tree in *@out (NULL: no filters); or -errno. */
static int filter_tree(const struct calltree *tree, const struct options *options, const char *unit,
	const char *of, struct calltree **out, struct diag_message *message)
{
	struct filtering filtering = {0};
	uint64_t left_out[TRANSFORM_FILTERS];
	int error = filtering_init(&filtering, options, message);

	if (error)
		return error;
	error = transform_filter(tree, filtering.matchers, out, left_out);
	filtering_release(&filtering);
	if (error)
		return diag_fail(message, error, "cannot draw: %s", strerror(-error));
	if (unit)
		report_left_out(left_out, unit, of);
	return 0;
}

/* ---- files and lines ------------------------------------------------------------------------- */

/* Context of map_file(). */
struct source_map {
	const struct options_list *list; /* "OLD=NEW" */
	char text[PATH_MAX];		 /* the last result */
};

static size_t without_slashes(const char *path, size_t bytes)
{
	while (bytes && path[bytes - 1] == '/')
		bytes--;
	return bytes;
}

/* Is @file the folder in the first @bytes of @old, or a path below that folder? */
static bool is_below(const char *file, const char *old, size_t bytes)
{
	return !strncmp(file, old, bytes) && (!file[bytes] || file[bytes] == '/');
}

/*
 * Implement transform_sources.map: in @file, replace the longest OLD that is its folder or a folder
 * above it. If this OLD was given twice, the last one counts.
 */
static const char *map_file(const char *file, void *context)
{
	struct source_map *map = context;
	size_t longest = 0;
	const char *to = NULL;

	for (unsigned i = 0; i < map->list->count; i++) {
		const char *old = map->list->item[i], *equals = strchr(old, '=');
		size_t bytes = without_slashes(old, (size_t)(equals - old));

		if (bytes < longest || !is_below(file, old, bytes))
			continue;
		longest = bytes;
		to = equals + 1;
	}
	if (!to)
		return file;
	file += longest;
	if (!*to)
		file += *file == '/';
	else if (snprintf(map->text, sizeof(map->text), "%.*s%s",
			 (int)without_slashes(to, strnlen(to, PATH_MAX)), to, file) > 0)
		file = map->text;
	return file;
}

/* Implement transform_sources.rename: drop template arguments, parameters and clone suffixes. */
static const char *merged_name(const char *name, void *context)
{
	char **text = context;
	size_t bytes = strlen(name);
	char *copy = bytes > MATCHED_BYTES_MAX ? NULL : strdup(name);

	free(*text);
	*text = copy ? malloc(LABEL_SHORT_BYTES(bytes)) : NULL;
	if (!*text) {
		free(copy);
		return name;
	}
	demangle_drop_copies(copy);
	label_short(*text, copy);
	free(copy);
	return *text;
}

/* Apply --inline, --source-map and --merge-templates. *@out is as of transform_sources(). */
static int source_tree(
	const struct calltree *tree, const struct options *options, struct calltree **out)
{
	char *text = NULL;
	struct source_map map = {.list = &options->source_map};
	const struct transform_sources sources = {
		.no_inline = options->no_inline != 0,
		.map = map.list->count ? map_file : NULL,
		.context = &map,
		.rename = options->merge_templates ? merged_name : NULL,
		.rename_context = &text,
	};
	int error = transform_sources(tree, &sources, out);

	free(text);
	return error;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/*
 * Group and reverse tree @functions; with --by line, tree @filtered. Returns 0 and an owned tree in
 * *@out (NULL if nothing changes), or -errno.
 */
static int shape_tree(const struct calltree *filtered, const struct calltree *functions,
	const struct options *options, struct calltree **out)
{
	const struct transform_shape shape = {
		.fold_idle = !options->no_fold_idle && calltree_waits(filtered),
		.collapse_recursion = options->collapse_recursion != 0,
		.by_module = options_has_word(options->by, "module"),
		.by_process = by_process(options),
		.by_thread = by_thread(options),
		.by_file = picture_by_file(options),
		.reverse = options->reverse != 0,
	};
	struct calltree *lines = NULL, *shaped = NULL;
	int error = 0;

	if (options_has_word(options->by, "line"))
		error = transform_lines(filtered, true, &lines);
	if (!error)
		error = transform_shape(lines ? lines : functions, &shape, &shaped);
	if (!error && !shaped) {
		shaped = lines;
		lines = NULL;
	}
	calltree_free(lines);
	if (!error)
		*out = shaped;
	return error;
}

/* If --by line finds no lines, report it: folded stacks have none, and programs need DWARF. */
static void report_lines(const struct calltree *tree, const struct options *options)
{
	uint32_t frame = 0;

	if (!options_has_word(options->by, "line") || !calltree_total(tree))
		return;
	while (frame < calltree_frames(tree) && !calltree_frame_at(tree, frame)->line)
		frame++;
	if (frame == calltree_frames(tree))
		diag_info("no lines are known: boxes are functions");
}

/* Set *@to to tree @made (takes ownership), or to @from if that is NULL. Returns @error. */
static int keep_tree(int error, const struct calltree *from, const struct calltree *made,
	const struct calltree **to)
{
	*to = made ? made : from;
	return error;
}

/* Make the other trees from trees->filtered. Returns 0, or -errno with the trees made so far. */
static int make_trees(struct picture_trees *trees, const struct options *options)
{
	struct calltree *made = NULL;
	int error = transform_lines(trees->filtered, false, &made);

	error = keep_tree(error, trees->filtered, made, &trees->merged);
	made = NULL;
	if (!error)
		error = transform_times(trees->merged, trees->times, &made);
	error = keep_tree(error, trees->merged, made, &trees->functions);
	made = NULL;
	if (!error)
		error = shape_tree(trees->filtered, trees->merged, options, &made);
	error = keep_tree(error, trees->merged, made, &trees->everything);
	made = NULL;
	/* If nothing was grouped or reversed, draw @functions. */
	if (!error && trees->everything == trees->merged)
		return keep_tree(0, trees->functions, NULL, &trees->shown);
	if (!error)
		error = transform_times(trees->everything, trees->times, &made);
	return keep_tree(error, trees->everything, made, &trees->shown);
}

int picture_trees_make(struct picture_trees *trees, const struct calltree *tree,
	const struct options *options, enum calltree_times times, const char *unit, const char *of,
	struct diag_message *message)
{
	struct calltree *sourced = NULL, *filtered = NULL;
	int error = source_tree(tree, options, &sourced);

	*trees = (struct picture_trees){times, tree, tree, tree, tree, tree, tree};
	if (error)
		return diag_fail(message, error, "cannot draw: %s", strerror(-error));
	error = filter_tree(sourced ? sourced : tree, options, unit, of, &filtered, message);
	if (error) {
		calltree_free(sourced);
		return error;
	}
	trees->filtered = filtered ? filtered : sourced ? sourced : tree;
	if (filtered)
		calltree_free(sourced);
	trees->merged = trees->functions = trees->everything = trees->shown = trees->filtered;
	if (unit && !*of)
		report_lines(trees->filtered, options);
	error = make_trees(trees, options);
	if (!error)
		return 0;
	picture_trees_release(trees);
	return diag_fail(message, error, "cannot draw: %s", strerror(-error));
}

/* Free @tree, unless it is one of the first @count trees in @before. */
static void free_made(const struct calltree *tree, const struct calltree *const *before, int count)
{
	while (count)
		if (before[--count] == tree)
			return;
	calltree_free((struct calltree *)(uintptr_t)tree);
}

void picture_trees_release(struct picture_trees *trees)
{
	const struct calltree *const all[] = {trees->whole, trees->filtered, trees->merged,
		trees->functions, trees->everything, trees->shown};

	for (int i = sizeof(all) / sizeof(all[0]); --i > 0;)
		free_made(all[i], all, i);
	*trees = (struct picture_trees){.whole = NULL};
}

void picture_trees_settings(const struct picture_trees *trees, struct picture_options *picture)
{
	picture->times = trees->times;
	picture->fine = trees->filtered;
	picture->everything = calltree_waits(trees->everything) ? trees->everything : NULL;
}

uint64_t picture_trees_weight(const struct picture_trees *trees)
{
	uint64_t total = calltree_total(trees->whole), waits = calltree_waits(trees->whole);

	return trees->times == CALLTREE_TIMES_BOTH    ? total
	       : trees->times == CALLTREE_TIMES_WAITS ? waits
						      : total - waits;
}

const char *picture_trees_empty(const struct picture_trees *trees)
{
	if (calltree_total(trees->shown) || !calltree_total(trees->whole))
		return NULL;
	return picture_trees_weight(trees) ? NOTHING_LEFT : ALL_WAITS;
}

/* Append @text at @out[@at]. Cut it to fit into @size with the NUL. Returns the new length. */
static size_t add_text(char *out, size_t size, size_t at, const char *text)
{
	size_t bytes = strnlen(text, size - 1 - at);

	memcpy(out + at, text, bytes);
	out[at + bytes] = '\0';
	return at + bytes;
}

/*
 * Write the filters into @out as "focus: a, b; hide: c", cut if too long. For pictures (@is_drawn),
 * also mention collapsed recursion, which profiles do not have.
 */
static void describe_filters(const struct options *options, bool is_drawn, char out[FILTERS_BYTES])
{
	char all[FILTERS_BYTES + 1] = "";
	size_t at = 0;

	for (int i = 0; i < TRANSFORM_FILTERS; i++) {
		const struct options_list *list = list_of(options, i);

		for (unsigned j = 0; j < list->count; j++) {
			if (!j) {
				at = add_text(all, sizeof(all), at, at ? "; " : "");
				at = add_text(all, sizeof(all), at, filters[i].option);
			}
			at = add_text(all, sizeof(all), at, j ? ", " : ": ");
			at = add_text(all, sizeof(all), at, list->item[j]);
		}
	}
	if (is_drawn && options->collapse_recursion)
		add_text(all, sizeof(all), add_text(all, sizeof(all), at, at ? "; " : ""),
			"recursion collapsed");
	label_clean(out, FILTERS_BYTES, all);
}

/* Write the filters, the share of the weight that is left (in percent) and @of into @out. */
static void write_filters(const struct picture_trees *trees, const struct options *options,
	bool is_drawn, const char *of, char *out, size_t size)
{
	double part = (double)calltree_total(trees->functions);
	double whole = (double)picture_trees_weight(trees);
	char text[FILTERS_BYTES], share[32] = "";

	describe_filters(options, is_drawn, text);
	if (part < whole)
		snprintf(share, sizeof(share), " (%.1f %%)", 100 * part / whole);
	snprintf(out, size, "%s%s%s%s", text, share,
		!*text || !*of ? ""
		: part < whole ? " of "
			       : "; ",
		of);
}

void picture_trees_subtitle(const struct picture_trees *trees, const struct options *options,
	const char *subtitle, char out[PICTURE_SUBTITLE_BYTES])
{
	write_filters(trees, options, true, subtitle, out, PICTURE_SUBTITLE_BYTES);
}

void picture_trees_filters(const struct picture_trees *trees, const struct options *options,
	const char *before, char out[PICTURE_FILTERS_BYTES])
{
	write_filters(trees, options, false, before, out, PICTURE_FILTERS_BYTES);
}
