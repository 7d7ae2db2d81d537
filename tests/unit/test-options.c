/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* Test the table of options, its parser, and the help text made from the table. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/formats/format.h"
#include "cli/command.h"
#include "cli/options.h"
#include "render/picture.h"

#define ARGUMENTS_MAX 80

static struct options options;
static struct diag_message message;

/*
 * Parse "flamerun" and @words, which ends with NULL, up to the first operand. Returns the operand's
 * index.
 */
static int parse(int expected_error, const char *const *words)
{
	static char *argv[ARGUMENTS_MAX];
	int argc = 1, index = 1;

	argv[0] = (char *)"flamerun";
	while (words[argc - 1]) {
		argv[argc] = (char *)words[argc - 1];
		argc++;
	}
	memset(&message, 0, sizeof(message));
	options_init(&options);
	assert_int_equal(options_parse(&options, argc, argv, &index, &message), expected_error);
	assert_int_equal(message.text[0] != '\0', expected_error != 0);
	return index;
}

#define PARSE(...)  parse(0, (const char *const[]){__VA_ARGS__, NULL})
#define REFUSE(...) parse(-EINVAL, (const char *const[]){__VA_ARGS__, NULL})

static void defaults(void **state)
{
	(void)state;
	assert_int_equal(PARSE("prog"), 1);
	assert_int_equal(options.rate_hz, 197);
	assert_int_equal(options.duration_ns, 0);
	assert_int_equal(options.level, DIAG_NORMAL);
	assert_int_equal(options.test_clock_hz, 0);
	assert_null(options.title);
	assert_null(options.run_only);
	assert_int_equal(options.outputs.count, 0);
	assert_int_equal(options_finish(&options, &message), 0);
	assert_int_equal(options.outputs.count, 1);
	assert_string_equal(options.outputs.item[0], "flame.svg");
}

static void the_default_output_gives_way(void **state)
{
	(void)state;
	PARSE("-o", "a.png", "prog");
	assert_int_equal(options_finish(&options, &message), 0);
	assert_int_equal(options.outputs.count, 1);
	assert_string_equal(options.outputs.item[0], "a.png");
}

static void every_way_to_give_a_value(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-r", "99", "p"), 3);
	assert_int_equal(options.rate_hz, 99);
	assert_int_equal(PARSE("-r98", "p"), 2);
	assert_int_equal(options.rate_hz, 98);
	assert_int_equal(PARSE("--rate", "97", "p"), 3);
	assert_int_equal(options.rate_hz, 97);
	assert_int_equal(PARSE("--rate=96", "p"), 2);
	assert_int_equal(options.rate_hz, 96);
	assert_int_equal(PARSE("-vr95", "p"), 2);
	assert_int_equal(options.rate_hz, 95);
	assert_int_equal(options.level, DIAG_VERBOSE);
	assert_int_equal(PARSE("--title=", "p"), 2);
	assert_string_equal(options.title, "");
	assert_int_equal(PARSE("--title", "--rate", "p"), 3);
	assert_string_equal(options.title, "--rate");
}

static void outputs_add_up(void **state)
{
	(void)state;
	PARSE("-oa.svg", "--output=b.png", "-o", "c.folded", "p");
	assert_int_equal(options.outputs.count, 3);
	assert_string_equal(options.outputs.item[0], "a.svg");
	assert_string_equal(options.outputs.item[1], "b.png");
	assert_string_equal(options.outputs.item[2], "c.folded");
	REFUSE("-o", "", "p");
}

/* Only options_finish() refuses an unknown format, because --format may follow. */
static void outputs_have_a_format(void **state)
{
	(void)state;
	PARSE("-o", "a.jpeg");
	assert_int_equal(options_finish(&options, &message), -EINVAL);
	assert_non_null(strstr(message.hint, FORMAT_EXTENSIONS));
	PARSE("-o", "svg");
	assert_int_equal(options_finish(&options, &message), -EINVAL);
	PARSE("-o", "/dev/null", "p");
	assert_int_equal(options_finish(&options, &message), 0);
	PARSE("-o", "a.jpeg", "--format", "png", "p");
	assert_int_equal(options_finish(&options, &message), 0);
}

static void too_many_outputs_are_refused(void **state)
{
	const char *words[2 * OPTIONS_LIST_MAX + 3];
	int count = 0;

	(void)state;
	for (int i = 0; i <= OPTIONS_LIST_MAX; i++) {
		words[count++] = "-o";
		words[count++] = "a.svg";
	}
	words[count] = NULL;
	parse(-EINVAL, words);
	words[count - 2] = NULL;
	parse(0, words);
}

static void parsing_stops_at_the_program(void **state)
{
	(void)state;
	assert_int_equal(PARSE("prog", "-r", "1"), 1);
	assert_int_equal(options.rate_hz, 197);
	assert_int_equal(PARSE("-q", "--", "-r", "1"), 3);
	assert_int_equal(options.rate_hz, 197);
	assert_true(options.ended_by_dashes);
	assert_int_equal(PARSE("-"), 1);
	assert_false(options.ended_by_dashes);
}

static void rates_have_a_range(void **state)
{
	(void)state;
	PARSE("-r", "1", "p");
	PARSE("-r", "10000", "p");
	assert_int_equal(options.rate_hz, 10000);
	REFUSE("-r", "0");
	REFUSE("-r", "10001");
	REFUSE("-r", "-5");
	REFUSE("-r", "+5");
	REFUSE("-r", " 5");
	REFUSE("-r", "5 ");
	REFUSE("-r", "5x");
	REFUSE("-r", "0x5");
	REFUSE("-r", "");
	REFUSE("-r", "4294967393");	      /* 97 in 32 bits */
	REFUSE("-r", "18446744073709551713"); /* 97 in 64 bits */
	assert_non_null(strstr(message.text, "from 1 to 10000"));
}

static void durations_are_decimal(void **state)
{
	(void)state;
	PARSE("-d", "2", "p");
	assert_int_equal(options.duration_ns, 2000000000);
	PARSE("-d", "0.25", "p");
	assert_int_equal(options.duration_ns, 250000000);
	PARSE("--duration=.5", "p");
	assert_int_equal(options.duration_ns, 500000000);
	PARSE("-d", "4000000000", "p");
	REFUSE("-d", "0");
	REFUSE("-d", "0.0");
	REFUSE("-d", "0.0000000001");
	REFUSE("-d", "-1");
	REFUSE("-d", "inf");
	REFUSE("-d", "nan");
	REFUSE("-d", "0x1");
	REFUSE("-d", "1e3");
	REFUSE("-d", "1.2.3");
	REFUSE("-d", ".");
	REFUSE("-d", "1s");
	REFUSE("-d", "");
	REFUSE("-d", "99999999999999999999999");
}

static void mistakes_are_named(void **state)
{
	(void)state;
	REFUSE("--nope");
	assert_string_equal(message.text, "unknown option '--nope'");
	REFUSE("--nope=3");
	assert_string_equal(message.text, "unknown option '--nope'");
	REFUSE("-qx");
	assert_string_equal(message.text, "unknown option '-x'");
	REFUSE("--rate");
	assert_string_equal(message.text, "--rate wants HZ");
	REFUSE("-o");
	assert_string_equal(message.text, "-o wants FILE");
	REFUSE("--quiet=yes");
	assert_string_equal(message.text, "--quiet takes no value");
	REFUSE("---");
	REFUSE("--=3");
	/* Hidden options cannot be abbreviated. */
	REFUSE("--test-cloc=3");
	REFUSE("--pallete=hot");
	assert_string_equal(message.text, "unknown option '--pallete'");
	assert_string_equal(message.hint, "did you mean --palette?");
	REFUSE("--no-icycle");
	assert_string_equal(message.hint, "did you mean --no-icicle?");
	REFUSE("--zzzzzz");
	assert_string_equal(message.hint, "flamerun --help lists the options");
}

static void abbreviations_are_taken_when_one_option_is_meant(void **state)
{
	(void)state;
	PARSE("--rat", "3", "p");
	assert_int_equal(options.rate_hz, 3);
	PARSE("--rat=4", "p");
	assert_int_equal(options.rate_hz, 4);
	PARSE("--font=a", "p"); /* though --font-size begins alike */
	assert_string_equal(options.font, "a");
	REFUSE("--fo=a");
	assert_string_equal(message.text, "option '--fo' is ambiguous");
	assert_string_equal(message.hint,
		"it may be --format --follow --fold-idle --focus --font --font-size");
}

static void switches_can_be_taken_back(void **state)
{
	(void)state;
	PARSE("--icicle", "--threads", "p");
	assert_int_equal(options.direction, PICTURE_ICICLE);
	assert_int_equal(options.threads, 1);
	PARSE("--icicle", "--no-icicle", "p");
	assert_int_equal(options.direction, PICTURE_FLAME);
	PARSE("-q", "--no-quiet", "p");
	assert_int_equal(options.level, DIAG_NORMAL);
	PARSE("-q", "--no-verbose", "p");
	assert_int_equal(options.level, DIAG_QUIET);
	REFUSE("--no-rate");
	REFUSE("--no-help");
	REFUSE("--no-icicle=yes");
	assert_string_equal(message.text, "--no-icicle takes no value");
}

static void numbers_have_ranges(void **state)
{
	(void)state;
	PARSE("--min-width", "0.5", "--font-size=11.5", "--width", "16000", "p");
	assert_true(options.min_width == 0.5);
	assert_true(options.font_size == 11.5);
	assert_int_equal(options.width, 16000);
	REFUSE("--min-width=0");
	assert_string_equal(message.text, "--min-width wants a number from 0.1 to 100, not '0'");
	REFUSE("--font-size=41");
	REFUSE("--font-size=1e1");
	REFUSE("--font-size=nan");
	REFUSE("--font-size=");
	REFUSE("--width=16001");
}

static void choices_are_names(void **state)
{
	(void)state;
	PARSE("--ground=dark", "--palette", "hot", "p");
	assert_string_equal(options.ground, "dark");
	assert_string_equal(options.palette, "hot");
	REFUSE("--ground=drak");
	assert_string_equal(message.text, "--ground has no 'drak'");
	assert_string_equal(message.hint, "did you mean dark?");
	REFUSE("--ground=");
	assert_string_equal(message.hint, "it has light dark");
}

static void expressions_are_compiled(void **state)
{
	(void)state;
	PARSE("--hide", "^(std::|_start$)", "--root=main", "p");
	assert_string_equal(options.hide.item[0], "^(std::|_start$)");
	PARSE("--hide", "x", "--hide", "", "p");
	assert_int_equal(options.hide.count, 0);
	PARSE("--hide", "x", "--hide", "", "--hide", "y", "--root=a", "--root=b", "p");
	assert_int_equal(options.hide.count, 1);
	assert_string_equal(options.hide.item[0], "y");
	assert_int_equal(options.root.count, 2);
	assert_string_equal(options.root.item[1], "b");
	REFUSE("--hide", "ab(c");
	assert_non_null(strstr(message.text, "missing closing parenthesis in 'ab(c'"));
	REFUSE("--root", "ok|x[a-");
	assert_non_null(strstr(message.text, "missing terminating ] for character class in 'ok"));
	REFUSE("--hide", "(");
	assert_non_null(strstr(message.text, "missing closing parenthesis in '('"));
	/* Refuse regular expressions that would use all memory. */
	REFUSE("--hide", "(((a{1,200}){1,200}){1,200}){1,200}");
	PARSE("--hide", "a{1,200}", "p");
}

static void presets_are_asked_for_by_name(void **state)
{
	(void)state;
	assert_int_equal(PARSE("@fast", "-q", "p"), 3);
	assert_string_equal(options.preset, "fast");
	assert_int_equal(PARSE("-q", "@fast", "p", "@more"), 3);
	assert_int_equal(PARSE("--", "@fast"), 2);
	assert_null(options.preset);
	assert_int_equal(PARSE("@"), 1);
	REFUSE("@a", "@b", "p");
	assert_string_equal(message.text, "two presets, '@a' and '@b'");
}

/* The value of a source of higher rank stays, in whichever order the sources are read. */
static void a_higher_rank_stays(void **state)
{
	const struct options_row *row = options_find("rate", 4);
	const struct options_origin high = {OPTIONS_USER_FILE, "high.ini", 3};
	const struct options_origin low = {OPTIONS_SYSTEM_FILE, "low.ini", 4};

	(void)state;
	memset(&message, 0, sizeof(message));
	options_init(&options);
	assert_int_equal(options_store(&options, row, "5", &high, &message), 0);
	assert_int_equal(options_store(&options, row, "6", &low, &message), 0);
	assert_int_equal(options.rate_hz, 5);
	assert_int_equal(options_origin(&options, row)->line, 3);
	assert_int_equal(options_store(&options, row, "0", &low, &message), -EINVAL);
	assert_string_equal(message.text,
		"low.ini:4: rate wants a whole number from 1 to 10000, not '0'");
	row = options_find("output", 6);
	assert_int_equal(options_store(&options, row, "a.svg", &low, &message), 0);
	assert_int_equal(options_store(&options, row, "b.svg", &low, &message), 0);
	assert_int_equal(options.outputs.count, 2);
	assert_int_equal(options_store(&options, row, "c.svg", &high, &message), 0);
	assert_int_equal(options.outputs.count, 1);
	assert_string_equal(options.outputs.item[0], "c.svg");
}

static void the_last_switch_counts(void **state)
{
	(void)state;
	PARSE("-q", "-v", "p");
	assert_int_equal(options.level, DIAG_VERBOSE);
	PARSE("-vq", "p");
	assert_int_equal(options.level, DIAG_QUIET);
	PARSE("-h");
	assert_int_equal(options.action, OPTIONS_SHORT_HELP);
	PARSE("-h", "--help");
	assert_int_equal(options.action, OPTIONS_HELP);
	PARSE("--help", "-qh");
	assert_int_equal(options.action, OPTIONS_SHORT_HELP);
	PARSE("--version");
	assert_int_equal(options.action, OPTIONS_VERSION);
}

static void options_of_runs_are_noted(void **state)
{
	(void)state;
	PARSE("-q", "-oa.svg", "p");
	assert_null(options.run_only);
	PARSE("-r9", "-q", "p");
	assert_string_equal(options.run_only, "rate");
	PARSE("--test-clock=5000", "p");
	assert_int_equal(options.test_clock_hz, 5000);
	assert_string_equal(options.run_only, "test-clock");
}

/*
 * In the table, each option's names are unique, its default can be parsed, and its value has its
 * own field.
 */
static void the_table_is_sound(void **state)
{
	(void)state;
	for (size_t i = 0; i < options_row_count; i++) {
		const struct options_row *row = &options_rows[i];

		for (size_t j = 0; row->long_name && j < i; j++) {
			if (!options_rows[j].long_name)
				continue;
			assert_string_not_equal(row->long_name, options_rows[j].long_name);
			if (row->short_name)
				assert_int_not_equal(row->short_name, options_rows[j].short_name);
		}
	}
}

/* Returns the help text, owned by the caller, and sets *@lines to the number of its lines. */
static char *read_help(bool is_short, size_t *lines)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	assert_int_equal(help_write(is_short, out), 0);
	fclose(out);
	*lines = 0;
	for (const char *line = text; *line; ++*lines) {
		size_t length = strcspn(line, "\n");

		assert_true(length <= 80);
		line += length + 1;
	}
	return text;
}

/* Returns whether a line of @help has the names of the option @row and, after blanks, its text. */
static bool has_line(const char *help, const struct options_row *row)
{
	char letter[] = {'-', row->short_name, ',', ' ', '\0'};

	for (int negated = 0; negated < 2; negated++) {
		char names[80];
		const char *at;

		snprintf(names, sizeof(names), "\n  %s--%s%s%s%s ",
			row->short_name ? letter : "    ", negated ? "[no-]" : "", row->long_name,
			row->argument ? " " : "", row->argument ? row->argument : "");
		at = strstr(help, names);
		if (!at)
			continue;
		at += strlen(names);
		at += strspn(at, " ");
		return !strncmp(at, row->text, strcspn(row->text, "\n"));
	}
	return false;
}

static void help_has_a_line_for_each_option(void **state)
{
	size_t short_lines, long_lines, documented = 0, listed = 0;
	char *brief = read_help(true, &short_lines), *full = read_help(false, &long_lines);
	bool hidden = false;

	(void)state;
	for (size_t i = 0; i < options_row_count; i++) {
		const struct options_row *row = &options_rows[i];
		bool is_short = row->listed == OPTIONS_LISTED_SHORT;

		hidden |= !row->long_name && !row->text;
		if (!row->long_name)
			continue;
		assert_int_equal(has_line(full, row), !hidden);
		assert_int_equal(has_line(brief, row), is_short);
		documented += !hidden;
		listed += is_short;
	}
	assert_true(hidden);
	assert_true(short_lines <= 24);
	assert_true(listed >= 15 && listed < documented);
	free(brief);
	free(full);
}

static void every_runtime_is_checked(void **state)
{
	static const char *const wrong[] = {
		"", "py", "python,", ",python", "python,,python", "python,ruby", "PYTHON"};

	(void)state;
	PARSE("--jit", "none,python");
	assert_string_equal(options.run_only, "jit");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		REFUSE("--jit", wrong[i]);
	REFUSE("--jit", "python,pyton");
	assert_string_equal(message.text, "--jit has no 'pyton'");
	assert_string_equal(message.hint, "did you mean python?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_runtime_is_checked),
		cmocka_unit_test(defaults),
		cmocka_unit_test(the_default_output_gives_way),
		cmocka_unit_test(every_way_to_give_a_value),
		cmocka_unit_test(outputs_add_up),
		cmocka_unit_test(outputs_have_a_format),
		cmocka_unit_test(too_many_outputs_are_refused),
		cmocka_unit_test(parsing_stops_at_the_program),
		cmocka_unit_test(rates_have_a_range),
		cmocka_unit_test(durations_are_decimal),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(abbreviations_are_taken_when_one_option_is_meant),
		cmocka_unit_test(switches_can_be_taken_back),
		cmocka_unit_test(numbers_have_ranges),
		cmocka_unit_test(choices_are_names),
		cmocka_unit_test(expressions_are_compiled),
		cmocka_unit_test(presets_are_asked_for_by_name),
		cmocka_unit_test(a_higher_rank_stays),
		cmocka_unit_test(the_last_switch_counts),
		cmocka_unit_test(options_of_runs_are_noted),
		cmocka_unit_test(the_table_is_sound),
		cmocka_unit_test(help_has_a_line_for_each_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
