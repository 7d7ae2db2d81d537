/* SPDX-License-Identifier: MIT */
/*
 * Check values of options and store them in struct options. A value does not replace a value of
 * higher rank, so the sources of values may be read in any order. The command line is read first,
 * because it says which files to read.
 *
 * Regular expressions are compiled here to report mistakes before a program runs.
 */
#include "cli/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diag.h"
#include "cli/expression.h"
#include "cli/formats/format.h"
#include "cli/run/sampling_clock.h"
#include "cli/symbols/demangle.h"
#include "render/picture.h"

#define NS_PER_S 1000000000.0
/* Longest duration in seconds: more than a century, but its nanoseconds fit into 64 bits. */
#define DURATION_MAX_S 4000000000.0
#define SUBJECT_BYTES  256

#define UINT(low, high)	   OPTIONS_KIND_UINT, low, high, NULL
#define DECIMAL(low, high) OPTIONS_KIND_DECIMAL, low, high, NULL
#define SECONDS		   OPTIONS_KIND_SECONDS, 0, 0, NULL
#define TEXT		   OPTIONS_KIND_TEXT, 0, 0, NULL
#define REGEX		   OPTIONS_KIND_REGEX, 0, 0, NULL
#define MAP		   OPTIONS_KIND_MAP, 0, 0, NULL
#define CHOICE(names)	   OPTIONS_KIND_CHOICE, 0, 0, names
#define CHOICES(names)	   OPTIONS_KIND_CHOICES, 0, 0, names
#define SWITCH(on, off)	   OPTIONS_KIND_SWITCH, on, off, NULL
#define FLAG(value)	   OPTIONS_KIND_FLAG, value, value, NULL
#define OUTPUT		   OPTIONS_KIND_OUTPUT, 0, 0, NULL

#define OPTIONS_GROUP(title) {.long_name = NULL, .text = title},
#define OPTIONS_HIDDEN	     {.long_name = NULL, .text = NULL},
#define OPTION(letter, name, value, member, type, initial, help, complete, which, where, listed) \
	{letter, name, value, offsetof(struct options, member), type, initial, help,             \
		OPTIONS_COMPLETE_##complete, OPTIONS_FOR_##which, OPTIONS_FROM_##where,          \
		OPTIONS_LISTED_##listed},

const struct options_row options_rows[] = {
#include "cli/options.def"
};
const size_t options_row_count = sizeof(options_rows) / sizeof(options_rows[0]);

_Static_assert(sizeof(options_rows) / sizeof(options_rows[0]) <= OPTIONS_ROWS_MAX,
	"struct options has a place for the origin of every row");

const char *const *options_grounds(void)
{
	static const char *const grounds[] = {"light", "dark", NULL};

	return grounds;
}

const char *const *options_groupings(void)
{
	static const char *const groupings[] = {
		"function", "process", "thread", "module", "line", "file", "rank", "node", NULL};

	return groupings;
}

const char *const *options_runtimes(void)
{
	static const char *const runtimes[] = {"none", "node", "python", NULL};

	return runtimes;
}

const char *const *options_shells(void)
{
	static const char *const shells[] = {"bash", "zsh", "fish", NULL};

	return shells;
}

bool options_has_word(const char *list, const char *word)
{
	size_t bytes = strlen(word);

	for (; list; list = strchr(list, ','), list += list != NULL)
		if (!strncmp(list, word, bytes) && (!list[bytes] || list[bytes] == ','))
			return true;
	return false;
}

const struct options_row *options_find(const char *name, size_t bytes)
{
	for (size_t i = 0; i < options_row_count; i++) {
		const char *candidate = options_rows[i].long_name;

		if (candidate && strlen(candidate) == bytes && !memcmp(candidate, name, bytes))
			return &options_rows[i];
	}
	return NULL;
}

/* ---- checking values ------------------------------------------------------------------------- */

struct checked_value {
	double number;
	uint64_t duration_ns;
	const char *text;
};

struct check {
	const struct options_row *row;
	/* The setting's name: "--rate", "FLAMERUN_RATE" or "/etc/flamerun.ini:3: rate". */
	const char *subject;
	const char *value;
	struct diag_message *message;
};

static void name_subject(char subject[SUBJECT_BYTES], const struct options_row *row,
	const struct options_origin *origin)
{
	if (origin->line)
		snprintf(subject, SUBJECT_BYTES, "%s:%u: %s", origin->source, origin->line,
			row->long_name);
	else
		snprintf(subject, SUBJECT_BYTES, "%s%s", origin->source ? "" : "--",
			origin->source ? origin->source : row->long_name);
}

static int check_uint(const struct check *check, struct checked_value *checked)
{
	const char *value = check->value;
	char *end;
	unsigned long number;

	errno = 0;
	number = strtoul(value, &end, 10);
	/* The first character must be a digit, because strtoul() also accepts blanks and signs. */
	if (value[0] < '0' || value[0] > '9' || *end || errno || (double)number < check->row->min ||
		(double)number > check->row->max)
		return diag_fail(check->message, -EINVAL,
			"%s wants a whole number from %g to %g, not '%s'", check->subject,
			check->row->min, check->row->max, value);
	checked->number = (double)number;
	return 0;
}

/* Parse a decimal number without sign. Refuse "inf", "nan" and "0x1p3", which strtod() accepts. */
static bool is_decimal(const char *value, double *number)
{
	char *end;

	*number = strtod(value, &end);
	return value[0] && !value[strspn(value, "0123456789.")] && !*end;
}

static int check_decimal(const struct check *check, struct checked_value *checked)
{
	if (!is_decimal(check->value, &checked->number) || checked->number < check->row->min ||
		checked->number > check->row->max)
		return diag_fail(check->message, -EINVAL,
			"%s wants a number from %g to %g, not '%s'", check->subject,
			check->row->min, check->row->max, check->value);
	return 0;
}

static int check_seconds(const struct check *check, struct checked_value *checked)
{
	double seconds;

	if (is_decimal(check->value, &seconds) && seconds <= DURATION_MAX_S)
		checked->duration_ns = (uint64_t)llround(seconds * NS_PER_S);
	if (!checked->duration_ns)
		return diag_fail(check->message, -EINVAL,
			"%s wants seconds, more than 0 (2 or 0.5), not '%s'", check->subject,
			check->value);
	return 0;
}

static int check_choice(const struct check *check, struct checked_value *checked)
{
	const char *const *names = check->row->names();
	char all[sizeof(check->message->hint)] = "";
	struct nearest nearest;
	size_t at = 0;

	nearest_begin(&nearest, check->value, strlen(check->value));
	for (; *names; names++) {
		if (!strcmp(check->value, *names)) {
			checked->text = *names;
			return 0;
		}
		nearest_offer(&nearest, *names);
		if (at < sizeof(all))
			at += (size_t)snprintf(all + at, sizeof(all) - at, " %s", *names);
	}
	diag_fail(check->message, -EINVAL, "%s has no '%s'", check->subject, check->value);
	if (nearest.best)
		diag_fail_hint(check->message, "did you mean %s?", nearest.best);
	else
		diag_fail_hint(check->message, "it has%s", all);
	return -EINVAL;
}

/* Check that each word of a list, separated by commas, is an allowed name. */
static int check_choices(const struct check *check, struct checked_value *checked)
{
	const char *at = check->value;

	for (;;) {
		char word[SUBJECT_BYTES];
		size_t bytes = strcspn(at, ",");
		struct check one = *check;
		int error;

		snprintf(word, sizeof(word), "%.*s", (int)(bytes < sizeof(word) ? bytes : 0), at);
		one.value = word;
		error = check_choice(&one, checked);
		if (error)
			return error;
		if (!at[bytes])
			break;
		at += bytes + 1;
	}
	checked->text = check->value;
	return 0;
}

static int check_regex(const struct check *check, struct checked_value *checked)
{
	char why[EXPRESSION_WHY_BYTES];
	struct expression *expression = NULL;
	int error = 0;

	/* An empty expression, which would match every name, removes the previous values. */
	checked->text = check->value[0] ? check->value : NULL;
	if (checked->text)
		error = expression_new(&expression, check->value, why);
	expression_free(expression);
	if (!error)
		return 0;
	return diag_fail(check->message, error, "%s: %s '%s'", check->subject, why, check->value);
}

static int check_map(const struct check *check, struct checked_value *checked)
{
	/* An empty value removes the previous values. */
	checked->text = check->value[0] ? check->value : NULL;
	if (!checked->text || strchr(check->value, '=') > check->value)
		return 0;
	return diag_fail(check->message, -EINVAL, "%s wants OLD=NEW, not '%s'", check->subject,
		check->value);
}

static int check_switch(const struct check *check, struct checked_value *checked)
{
	static const char *const words[][2] = {
		{"yes", "no"}, {"true", "false"}, {"on", "off"}, {"1", "0"}};

	checked->number = check->row->min;
	if (!check->value)
		return 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(check->value, words[i][0]))
			return 0;
		checked->number = check->row->max;
		if (!strcmp(check->value, words[i][1]))
			return 0;
		checked->number = check->row->min;
	}
	return diag_fail(check->message, -EINVAL, "%s wants yes or no, not '%s'", check->subject,
		check->value);
}

static int check_value(const struct check *check, struct checked_value *checked)
{
	checked->text = check->value;
	switch (check->row->kind) {
	case OPTIONS_KIND_UINT:
		return check_uint(check, checked);
	case OPTIONS_KIND_DECIMAL:
		return check_decimal(check, checked);
	case OPTIONS_KIND_SECONDS:
		return check_seconds(check, checked);
	case OPTIONS_KIND_REGEX:
		return check_regex(check, checked);
	case OPTIONS_KIND_MAP:
		return check_map(check, checked);
	case OPTIONS_KIND_CHOICE:
		return check_choice(check, checked);
	case OPTIONS_KIND_CHOICES:
		return check_choices(check, checked);
	case OPTIONS_KIND_SWITCH:
		return check_switch(check, checked);
	case OPTIONS_KIND_FLAG:
		checked->number = check->row->min;
		return 0;
	case OPTIONS_KIND_OUTPUT:
		if (!check->value[0])
			return diag_fail(
				check->message, -EINVAL, "%s wants a file's name", check->subject);
		return 0;
	case OPTIONS_KIND_TEXT:
		return 0;
	}
	return -EINVAL;
}

/* ---- storing --------------------------------------------------------------------------------- */

/* Add @item to @list, after clearing the list if @first is set. If @item is NULL, only clear it. */
static int add_item(
	struct options_list *list, bool first, const char *item, const struct check *check)
{
	unsigned count = first || !item ? 0 : list->count;

	if (count == OPTIONS_LIST_MAX)
		return diag_fail(check->message, -EINVAL, "%s was given more than %d times",
			check->subject, OPTIONS_LIST_MAX);
	if (item)
		list->item[count++] = item;
	list->count = count;
	return 0;
}

static int store_value(struct options *options, const struct check *check,
	const struct checked_value *checked, bool first)
{
	void *field = (char *)options + check->row->field;

	switch (check->row->kind) {
	case OPTIONS_KIND_SWITCH:
		/* "verbose = no" must not undo --quiet: both settings have the same field. */
		if (checked->number != check->row->min &&
			*(uint32_t *)field != (uint32_t)check->row->min)
			return 0;
		*(uint32_t *)field = (uint32_t)checked->number;
		return 0;
	case OPTIONS_KIND_UINT:
	case OPTIONS_KIND_FLAG:
		*(uint32_t *)field = (uint32_t)checked->number;
		return 0;
	case OPTIONS_KIND_DECIMAL:
		*(double *)field = checked->number;
		return 0;
	case OPTIONS_KIND_SECONDS:
		*(uint64_t *)field = checked->duration_ns;
		return 0;
	case OPTIONS_KIND_TEXT:
	case OPTIONS_KIND_CHOICE:
	case OPTIONS_KIND_CHOICES:
		*(const char **)field = checked->text;
		return 0;
	case OPTIONS_KIND_REGEX:
	case OPTIONS_KIND_MAP:
	case OPTIONS_KIND_OUTPUT:
		return add_item(field, first, checked->text, check);
	}
	return -EINVAL;
}

/* Returns the index of the first row with @row's field. --quiet and --verbose share a field. */
static size_t origin_index(const struct options_row *row)
{
	size_t i = 0;

	while (!options_rows[i].long_name || options_rows[i].field != row->field)
		i++;
	return i;
}

const struct options_origin *options_origin(
	const struct options *options, const struct options_row *row)
{
	return &options->origins[origin_index(row)];
}

static bool is_same_origin(const struct options_origin *a, const struct options_origin *b)
{
	return a->rank == b->rank &&
	       (a->source == b->source ||
		       (a->source && b->source && !strcmp(a->source, b->source)));
}

int options_store(struct options *options, const struct options_row *row, const char *value,
	const struct options_origin *origin, struct diag_message *message)
{
	struct options_origin *known = &options->origins[origin_index(row)];
	char subject[SUBJECT_BYTES];
	const struct check check = {row, subject, value, message};
	struct checked_value checked = {0};
	int error;

	name_subject(subject, row, origin);
	error = check_value(&check, &checked);
	if (error || origin->rank < known->rank)
		return error;
	error = store_value(options, &check, &checked, !is_same_origin(known, origin));
	if (!error)
		*known = *origin;
	return error;
}

bool options_is_said(const struct options *options, const char *name)
{
	const struct options_row *row = options_find(name, strlen(name));

	return options_origin(options, row)->rank != OPTIONS_BUILT_IN;
}

void options_init(struct options *options)
{
	static const struct options_origin built_in = {.rank = OPTIONS_BUILT_IN};

	memset(options, 0, sizeof(*options));
	options->level = DIAG_NORMAL;
	for (size_t i = 0; i < options_row_count; i++)
		if (options_has_default(&options_rows[i]) &&
			options_rows[i].kind != OPTIONS_KIND_OUTPUT)
			options_store(options, &options_rows[i], options_rows[i].fallback,
				&built_in, NULL);
}
