/* SPDX-License-Identifier: MIT */
/*
 * Parse a command line: long and short options, abbreviated options and presets. For an unknown
 * option, suggest a known one. options.c checks the values.
 */
#include "cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/diag.h"
#include "cli/formats/format.h"
#include "cli/store/address.h"

static const struct options_origin command_line = {.rank = OPTIONS_COMMAND_LINE};

/*
 * Options of perf, samply, py-spy, cargo flamegraph, flamegraph.pl and async-profiler that users
 * may try, each with flamerun's option for the purpose.
 */
static const struct {
	const char *option, *hint;
} habits[] = {
	{"F", "the rate is -r, --rate HZ"},
	{"V", "flamerun --version"},
	{"call-graph", "stacks are always recorded"},
	{"colors", "colours are --palette NAME"},
	{"freq", "the rate is -r, --rate HZ"},
	{"frequency", "the rate is -r, --rate HZ"},
	{"g", "stacks are always recorded"},
	{"inverted", "--icicle lets the boxes hang, --reverse merges from the innermost function"},
	{"minwidth", "the least width of a box is --min-width PX"},
};

/* Returns a constant hint, never NULL, for the unknown option @word of @bytes (without dashes). */
static const char *find_habit_hint(const char *word, size_t bytes)
{
	for (size_t i = 0; i < sizeof(habits) / sizeof(habits[0]); i++)
		if (strlen(habits[i].option) == bytes && !memcmp(habits[i].option, word, bytes))
			return habits[i].hint;
	return "flamerun --help lists the options";
}

/*
 * Store an option of the command line. If only some commands accept the option, record its name, so
 * that another command can refuse the option.
 */
static int store_option(struct options *options, const struct options_row *row, const char *value,
	struct diag_message *message)
{
	int error = options_store(options, row, value, &command_line, message);

	if (row->commands == OPTIONS_FOR_RUN)
		options->run_only = row->long_name;
	if (row->commands == OPTIONS_FOR_TOP)
		options->top_only = row->long_name;
	if (row->commands == OPTIONS_FOR_DIFF)
		options->diff_only = row->long_name;
	if (row->commands == OPTIONS_FOR_TABLES)
		options->tables_only = row->long_name;
	if (options->completions && options->action == OPTIONS_RUN)
		options->action = OPTIONS_COMPLETIONS;
	return error;
}

/* A long option as it may be typed. */
struct spelling {
	const struct options_row *row;
	bool negated; /* "no-" and the name of a switch */
	char name[40];
};

/*
 * Set @spelling to spelling number @i. The row with the index i / 2 is spelled "name" if @i is
 * even, and "no-name" if @i is odd. Returns false if the row has no such spelling.
 */
static bool spelling_at(struct spelling *spelling, size_t i)
{
	const struct options_row *row = &options_rows[i / 2];

	spelling->row = row;
	spelling->negated = i % 2;
	if (!row->long_name || (spelling->negated && row->kind != OPTIONS_KIND_SWITCH))
		return false;
	snprintf(spelling->name, sizeof(spelling->name), "%s%s", spelling->negated ? "no-" : "",
		row->long_name);
	return true;
}

/* Returns the index of the first hidden row. Hidden options are not abbreviated or suggested. */
static size_t first_hidden(void)
{
	size_t i = 0;

	while (i < options_row_count && (options_rows[i].long_name || options_rows[i].text))
		i++;
	return i;
}

static int refuse_unknown_long(struct diag_message *message, const char *word, size_t bytes)
{
	struct spelling spelling;
	struct nearest nearest;
	char best[sizeof(spelling.name)] = "";

	nearest_begin(&nearest, word, bytes);
	for (size_t i = 0; i < 2 * first_hidden(); i++) {
		const char *before = nearest.best;
		unsigned distance = nearest.distance;

		if (!spelling_at(&spelling, i))
			continue;
		nearest_offer(&nearest, spelling.name);
		if (nearest.best && (!before || nearest.distance < distance))
			strcpy(best, spelling.name);
		if (nearest.best)
			nearest.best = best;
	}
	diag_fail(
		message, -EINVAL, "unknown option '--%.*s'", bytes > 400 ? 400 : (int)bytes, word);
	if (nearest.best)
		diag_fail_hint(message, "did you mean --%s?", best);
	else
		diag_fail_hint(message, "%s", find_habit_hint(word, bytes));
	return -EINVAL;
}

static int refuse_ambiguous(struct diag_message *message, const char *word, size_t bytes)
{
	char names[sizeof(message->hint)] = "";
	struct spelling spelling;
	size_t at = 0;

	for (size_t i = 0; i < 2 * first_hidden(); i++)
		if (spelling_at(&spelling, i) && !strncmp(spelling.name, word, bytes) &&
			at < sizeof(names))
			at += (size_t)snprintf(
				names + at, sizeof(names) - at, " --%s", spelling.name);
	diag_fail(message, -EINVAL, "option '--%.*s' is ambiguous", (int)bytes, word);
	diag_fail_hint(message, "it may be%s", names);
	return -EINVAL;
}

/* Find the option that the first @bytes of @word name or unambiguously abbreviate. */
static int find_spelling(
	struct spelling *found, const char *word, size_t bytes, struct diag_message *message)
{
	struct spelling spelling;
	size_t matches = 0;

	for (size_t i = 0; i < 2 * options_row_count; i++) {
		if (!spelling_at(&spelling, i) || strncmp(spelling.name, word, bytes))
			continue;
		if (!spelling.name[bytes]) {
			*found = spelling;
			return 0;
		}
		if (i >= 2 * first_hidden())
			continue;
		*found = spelling;
		matches++;
	}
	if (!matches || !bytes)
		return refuse_unknown_long(message, word, bytes);
	return matches > 1 ? refuse_ambiguous(message, word, bytes) : 0;
}

/*
 * Parse the long option @word (without "--"). @next is the word after it, or NULL. *@used is set if
 * @next is the option's value.
 */
static int parse_long(struct options *options, const char *word, const char *next, bool *used,
	struct diag_message *message)
{
	size_t bytes = strcspn(word, "=");
	const char *value = word[bytes] ? word + bytes + 1 : NULL;
	struct spelling found;
	int error = find_spelling(&found, word, bytes, message);

	if (error)
		return error;
	if (!found.row->argument && value)
		return diag_fail(message, -EINVAL, "--%s takes no value", found.name);
	if (found.negated)
		return store_option(options, found.row, "no", message);
	if (found.row->argument && !value) {
		if (!next)
			return diag_fail(
				message, -EINVAL, "--%s wants %s", found.name, found.row->argument);
		value = next;
		*used = true;
	}
	return store_option(options, found.row, value, message);
}

static const struct options_row *find_short(char letter)
{
	for (size_t i = 0; i < options_row_count; i++)
		if (letter && options_rows[i].short_name == letter)
			return &options_rows[i];
	return NULL;
}

/* Parse the letters @word after "-". The last one may have a value: the end of @word, or @next. */
static int parse_shorts(struct options *options, const char *word, const char *next, bool *used,
	struct diag_message *message)
{
	int error = 0;

	for (; *word && !error; word++) {
		const struct options_row *row = find_short(*word);

		if (!row) {
			diag_fail(message, -EINVAL, "unknown option '-%c'", *word);
			diag_fail_hint(message, "%s", find_habit_hint(word, 1));
			return -EINVAL;
		}
		if (!row->argument) {
			error = store_option(options, row, NULL, message);
			if (*word == 'h') /* and not --help, which has the same row */
				options->action = OPTIONS_SHORT_HELP;
			continue;
		}
		if (word[1])
			return store_option(options, row, word + 1, message);
		if (!next)
			return diag_fail(message, -EINVAL, "-%c wants %s", *word, row->argument);
		*used = true;
		return store_option(options, row, next, message);
	}
	return error;
}

static int store_preset(struct options *options, const char *word, struct diag_message *message)
{
	if (options->preset)
		return diag_fail(
			message, -EINVAL, "two presets, '@%s' and '%s'", options->preset, word);
	options->preset = word + 1;
	return 0;
}

int options_parse(
	struct options *options, int argc, char **argv, int *index, struct diag_message *message)
{
	while (*index < argc) {
		const char *word = argv[*index];
		const char *next = *index + 1 < argc ? argv[*index + 1] : NULL;
		bool used = false;
		int error;

		if ((word[0] != '-' && word[0] != '@') || !word[1])
			return 0;
		++*index;
		if (!strcmp(word, "--")) {
			options->ended_by_dashes = true;
			return 0;
		}
		if (word[0] == '@')
			error = store_preset(options, word, message);
		else if (word[1] == '-' || !strcmp(word, "-help")) /* as in X programs */
			error = parse_long(
				options, word + 1 + (word[1] == '-'), next, &used, message);
		else
			error = parse_shorts(options, word + 1, next, &used, message);
		if (error)
			return error;
		*index += used;
	}
	return 0;
}

int options_check_command(const struct options *options, const char *name, bool is_top,
	bool is_diff, bool runs, struct diag_message *message)
{
	if (options->run_only && !runs)
		return diag_fail(message, -EINVAL, "--%s means nothing to %s: it runs no program",
			options->run_only, name);
	if (options->top_only && !is_top)
		return diag_fail(message, -EINVAL, "--%s is for flamerun top", options->top_only);
	if (options->diff_only && !is_diff)
		return diag_fail(message, -EINVAL, "--%s is for flamerun diff", options->diff_only);
	if (options->symbols && strcmp(name, "push"))
		return diag_fail(message, -EINVAL, "--symbols is for flamerun push");
	if (options->tables_only && !is_top && !is_diff)
		return diag_fail(message, -EINVAL, "--%s is for flamerun top and flamerun diff",
			options->tables_only);
	return 0;
}

/* ---- when all settings are known ------------------------------------------------------------- */

static bool is_folder(const char *path)
{
	struct stat status;

	return path[strlen(path) - 1] == '/' || (!stat(path, &status) && S_ISDIR(status.st_mode));
}

static int refuse_folder(const char *path, struct diag_message *message)
{
	bool is_open = path[strlen(path) - 1] == '/';

	diag_fail(message, -EISDIR, "cannot write '%s': it is a folder", path);
	diag_fail_hint(message, "name a file in it: -o '%s%sflame.svg'", path, is_open ? "" : "/");
	return -EINVAL;
}

int options_finish(struct options *options, struct diag_message *message)
{
	for (size_t i = 0; i < options_row_count; i++)
		if (options_rows[i].kind == OPTIONS_KIND_OUTPUT && !options->outputs.count)
			options->outputs.item[options->outputs.count++] = options_rows[i].fallback;
	/* Skip "-": results_open() first checks whether stdout can be written to at all. */
	for (unsigned i = 0; i < options->outputs.count; i++) {
		const char *path = options->outputs.item[i];

		if (strcmp(path, "-") && !store_address_is(path) &&
			!format_of(path, options->format))
			return is_folder(path) ? refuse_folder(path, message)
					       : format_unknown(path, message);
	}
	return 0;
}
