/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Test which settings files are found and read, which of several sources of a setting wins, and for
 * which line and column of a settings file an error is reported.
 */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/config.h"
#include "render/picture.h"

static struct options options;
static struct config config;
static struct diag_message message;

static void begin(void)
{
	config_release(&config);
	memset(&message, 0, sizeof(message));
	options_init(&options);
}

static char folder[] = "/tmp/test-config-XXXXXX";

static char *in_folder(const char *name)
{
	char *path;

	assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
	return path;
}

static char *put(const char *name, const char *text)
{
	char *path = in_folder(name);
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
	return path;
}

static void load(const struct config_paths *paths, int expected)
{
	assert_int_equal(config_load(&config, &options, paths, &message), expected);
}

static void type(const char *name, const char *value)
{
	const struct options_origin typed = {.rank = OPTIONS_COMMAND_LINE};

	assert_int_equal(
		options_store(&options, options_find(name, strlen(name)), value, &typed, NULL), 0);
}

/*
 * For each type of value: the value that each source of settings sets, from the lowest to the
 * highest rank.
 */
static const struct level_values {
	const char *name, *variable;
	const char *said[OPTIONS_COMMAND_LINE]; /* index: rank - 1 */
} matrix[] = {
	{"rate", "FLAMERUN_RATE", {"2", "3", "4", "5", "6", "7"}},
	{"font-size", "FLAMERUN_FONT_SIZE", {"8.5", "9.5", "10.5", "11.5", "12.5", "13.5"}},
	{"duration", "FLAMERUN_DURATION", {"1", "2", "3", "4", "5", "6"}},
	{"count-name", "FLAMERUN_COUNT_NAME", {"a", "b", "c", "d", "e", "f"}},
	{"hide", "FLAMERUN_HIDE", {"a", "b", "c", "d", "e", "f"}},
	{"ground", "FLAMERUN_GROUND", {"dark", "light", "dark", "light", "dark", "light"}},
	{"threads", "FLAMERUN_THREADS", {"yes", "no", "yes", "no", "yes", "no"}},
	{"output", "FLAMERUN_OUTPUT", {"a.svg", "b.svg", NULL, "d.svg", "e.svg", "f.svg"}},
};

/*
 * Returns the value of the option @row as a number, or the first letter of a string. This is enough
 * to distinguish the values in `matrix`.
 */
static double seen(const struct options_row *row)
{
	const void *field = (const char *)&options + row->field;

	switch (row->kind) {
	case OPTIONS_KIND_UINT:
	case OPTIONS_KIND_SWITCH:
	case OPTIONS_KIND_FLAG:
		return *(const uint32_t *)field;
	case OPTIONS_KIND_DECIMAL:
		return *(const double *)field;
	case OPTIONS_KIND_SECONDS:
		return (double)*(const uint64_t *)field / 1e9;
	case OPTIONS_KIND_OUTPUT:
		assert_int_equal(options.outputs.count, 1);
		return options.outputs.item[0][0];
	default:
		return (*(const char *const *)field)[0];
	}
}

static double meant(const struct options_row *row, const char *said)
{
	if (row->kind == OPTIONS_KIND_SWITCH)
		return !strcmp(said, "yes");
	return row->kind <= OPTIONS_KIND_SECONDS ? atof(said) : said[0];
}

/* Set a value in the sources of ranks 1 to @top. The value of the highest rank must win. */
static void check_levels(const struct level_values *values, enum options_rank top)
{
	const struct options_row *row = options_find(values->name, strlen(values->name));
	struct config_paths paths = {0};
	char text[3][200] = {"", "", ""};

	begin();
	for (unsigned rank = 1; rank <= OPTIONS_PROJECT_FILE && rank <= top; rank++)
		if (values->said[rank - 1])
			snprintf(text[rank - 1], sizeof(text[0]), "%s = %s\n", values->name,
				values->said[rank - 1]);
	if (top >= OPTIONS_PRESET) {
		options.preset = "p";
		snprintf(text[0] + strlen(text[0]), 100, "[preset p]\n%s = %s\n", values->name,
			values->said[OPTIONS_PRESET - 1]);
	}
	if (top >= OPTIONS_ENVIRONMENT)
		setenv(values->variable, values->said[OPTIONS_ENVIRONMENT - 1], 1);
	if (top >= OPTIONS_COMMAND_LINE)
		type(values->name, values->said[OPTIONS_COMMAND_LINE - 1]);
	paths.system[0] = in_folder("none.ini");
	paths.system[1] = put("system.ini", text[0]);
	paths.user = put("user.ini", text[1]);
	paths.project = put("project.ini", text[2]);
	load(&paths, 0);
	while (!values->said[top - 1])
		top--;
	assert_true(seen(row) == meant(row, values->said[top - 1]));
	assert_int_equal(options_origin(&options, row)->rank, top);
	unsetenv(values->variable);
	config_paths_release(&paths);
}

static void every_level_beats_those_below(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(matrix) / sizeof(matrix[0]); i++)
		for (unsigned top = OPTIONS_SYSTEM_FILE; top <= OPTIONS_COMMAND_LINE; top++)
			check_levels(&matrix[i], top);
}

static void config_replaces_and_no_config_skips(void **state)
{
	struct config_paths paths = {0};
	char *path = put("given.ini", "rate = 9\nopen = yes\n");

	(void)state;
	paths.system[0] = put("system.ini", "rate = 2\nwidth = 300\n");
	paths.system[1] = put("other.ini", "width = 400\n");
	paths.user = put("user.ini", "rate = 3\n");
	begin();
	load(&paths, 0);
	assert_int_equal(options.rate_hz, 3);
	assert_int_equal(options.width, 300);
	begin();
	options.config = path;
	load(&paths, 0);
	assert_int_equal(options.rate_hz, 9);
	assert_int_equal(options.open, 1);
	assert_int_equal(options.width, 1200);
	begin();
	options.config = "/nonexistent/x.ini";
	load(&paths, -ENOENT);
	begin();
	options.config = path;
	options.no_config = 1;
	load(&paths, 0);
	assert_int_equal(options.rate_hz, 197);
	config_paths_release(&paths);
	free(path);
}

static void presets_have_to_exist(void **state)
{
	struct config_paths paths = {
		.user = put("u.ini", "[preset fast]\nrate = 4\n[preset slow]\nrate = 1\n")};

	(void)state;
	begin();
	options.preset = "slow";
	load(&paths, 0);
	assert_int_equal(options.rate_hz, 1);
	begin();
	options.preset = "fsat";
	load(&paths, -EINVAL);
	assert_string_equal(message.text, "no settings file has a preset 'fsat'");
	assert_string_equal(message.hint, "did you mean @fast?");
	config_paths_release(&paths);
}

/*
 * An unreadable file at a default path causes a warning. If the user named the file, it is an
 * error.
 */
static void what_is_no_file_is_not_read(void **state)
{
	const struct {
		const char *name, *because;
		int error;
	} cases[] = {
		{"folder.ini", "it is a directory", -EISDIR},
		{"fifo.ini", "it is not a regular file", -EINVAL},
		{"loop.ini", "Too many levels of symbolic links", -ELOOP},
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct config_paths paths = {.user = in_folder(cases[i].name)};
		char text[PATH_MAX];

		if (i == 0)
			assert_int_equal(mkdir(paths.user, 0700), 0);
		else if (i == 1)
			assert_int_equal(mkfifo(paths.user, 0600), 0);
		else
			assert_int_equal(symlink(paths.user, paths.user), 0);
		snprintf(text, sizeof(text), "cannot read '%s': %s", paths.user, cases[i].because);
		begin();
		load(&paths, 0);
		assert_int_equal(config.warnings.count, 1);
		assert_string_equal(config.warnings.items[0], text);
		begin();
		options.config = paths.user;
		load(&paths, cases[i].error);
		assert_string_equal(message.text, text);
		config_paths_release(&paths);
	}
}

static void projects_of_others_are_not_read(void **state)
{
	struct config_paths paths = {.project = put("project.ini", "rate = 5\n")};

	(void)state;
	assert_int_equal(chmod(paths.project, 0646), 0);
	begin();
	load(&paths, 0);
	assert_int_equal(options.rate_hz, 197);
	assert_int_equal(config.warnings.count, 1);
	assert_non_null(strstr(config.warnings.items[0], "everybody can write to it"));
	assert_int_equal(chmod(paths.project, 0644), 0);
	if (!geteuid()) {
		assert_int_equal(chown(paths.project, 12345, 0), 0);
		begin();
		load(&paths, 0);
		assert_int_equal(options.rate_hz, 197);
		assert_non_null(strstr(config.warnings.items[0], "belongs to somebody else"));
		assert_int_equal(chown(paths.project, 0, 0), 0);
	}
	begin();
	load(&paths, 0);
	assert_int_equal(options.rate_hz, 5);
	config_paths_release(&paths);
}

static void found(const char *from, const char *home, const char *expected)
{
	char *start = in_folder(from), *top = home ? in_folder(home) : NULL;
	char *path = config_project_file(start, top);

	if (expected) {
		char *wanted = in_folder(expected);

		assert_non_null(path);
		assert_string_equal(path, wanted);
		free(wanted);
	} else {
		assert_null(path);
	}
	free(path);
	free(start);
	free(top);
}

static void projects_end_at_git_and_home(void **state)
{
	static const char *const folders[] = {"a", "a/b", "a/b/c", "a/b/c/d", "a/b/c/.git"};
	char *path;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		path = in_folder(folders[i]);
		assert_int_equal(mkdir(path, 0700), 0);
		free(path);
	}
	free(put("a/.flamerun.ini", ""));
	found("a/b/c/d", NULL, "a/.flamerun.ini");
	found("a/b/c/d", "a", "a/.flamerun.ini");
	found("a/b/c/d", "a/b", NULL);
	path = in_folder(folders[4]);
	assert_int_equal(mkdir(path, 0700), 0);
	free(path);
	found("a/b/c/d", NULL, NULL);
	found("a/b", NULL, "a/.flamerun.ini");
	free(put("a/b/c/.flamerun.ini", ""));
	found("a/b/c/d", NULL, "a/b/c/.flamerun.ini");
	assert_null(config_project_file("relative", NULL));
}

static int begin_all(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int end_all(void **state)
{
	char command[64] = "rm -rf ";

	(void)state;
	config_release(&config);
	return system(strcat(command, folder));
}

/* ---- config file ----------------------------------------------------------------------------- */

/* Read the @bytes bytes at @text as if they were the contents of f.ini. */
static int read_bytes(const char *text, size_t bytes, enum options_rank rank, bool is_required)
{
	const struct config_source source = {"f.ini", rank, is_required};
	FILE *in = fmemopen((void *)text, bytes, "r");
	int error;

	assert_non_null(in);
	error = config_read(&config, &options, &source, in, &message);
	fclose(in);
	assert_int_equal(error != 0, message.text[0] != '\0');
	return error;
}

static int read_text(const char *text)
{
	begin();
	return read_bytes(text, strlen(text), OPTIONS_USER_FILE, true);
}

static void refused(const char *text, const char *because)
{
	assert_int_equal(read_text(text), -EINVAL);
	assert_string_equal(message.text, because);
}

static void values_of_every_type(void **state)
{
	(void)state;
	assert_int_equal(read_text("\xef\xbb\xbf# comment\n; comment\n\n"
				   "rate = 99\r\nmin-width=0.25\nduration : 1.5\n"
				   "title = two words ; and a comment\nhide = ^_\nground = dark\n"
				   "icicle = on\nthreads = 1\nreverse = false\nverbose = yes\n"
				   "output = a.svg\noutput = b.png"),
		0);
	assert_int_equal(options.rate_hz, 99);
	assert_true(options.min_width == 0.25);
	assert_int_equal(options.duration_ns, 1500000000);
	assert_string_equal(options.title, "two words");
	assert_string_equal(options.hide.item[0], "^_");
	assert_string_equal(options.ground, "dark");
	assert_int_equal(options.direction, PICTURE_ICICLE);
	assert_int_equal(options.threads, 1);
	assert_int_equal(options.reverse, 0);
	assert_int_equal(options.level, DIAG_VERBOSE);
	assert_int_equal(options.outputs.count, 2);
	assert_string_equal(options.outputs.item[1], "b.png");
	assert_int_equal(options_origin(&options, options_find("output", 6))->line, 15);
	assert_int_equal(config.warnings.count, 0);
}

static void mistakes_are_named_with_their_line(void **state)
{
	(void)state;
	refused("rate = 0\n", "f.ini:1: rate wants a whole number from 1 to 10000, not '0'");
	refused("\n\nrate =\n", "f.ini:3: rate wants a whole number from 1 to 10000, not ''");
	refused("icicle = maybe\n", "f.ini:1: icicle wants yes or no, not 'maybe'");
	refused("hide = a(b\n",
		"f.ini:1: hide: missing closing parenthesis in 'a(b'");
	refused("[preset x]\nicicle=x\n", "f.ini:2: icicle wants yes or no, not 'x'");
	refused("title = a\nnonsense\nrate = 0\n", "f.ini:2: this is not 'name = value'");
	refused("[preset x\n", "f.ini:1: this is not 'name = value'");
	refused("title = a\n  rate = 0\n",
		"f.ini:2: rate wants a whole number from 1 to 10000, not '0'");
	refused("raet = 5\n", "f.ini:1: there is no setting 'raet'");
	assert_string_equal(message.hint, "did you mean rate?");
	refused("[presets]\nrate = 5\n", "f.ini:2: there is no section 'presets'");
	refused("config = x\n", "f.ini:1: only the command line can say 'config'");
	refused("test-clock = 5\n", "f.ini:1: only the command line can say 'test-clock'");
	refused("[0123456789012345678901234567890123456789012345678]\nrate = 5\n",
		"f.ini:2: there is no section '0123456789012345678901234567890123456789012345678'");
	refused("[01234567890123456789012345678901234567890123456789]\n",
		"f.ini:1: the section's name is too long");
}

static void binary_files_are_refused(void **state)
{
	static const char bytes[] = "rate = 5\ntitle = a\0b\n";

	(void)state;
	begin();
	assert_int_equal(read_bytes(bytes, sizeof(bytes) - 1, OPTIONS_USER_FILE, false), -EINVAL);
	assert_string_equal(message.text, "f.ini:2: this is not text");
}

/* The buffer of the INI parser (inih) ends at 200 bytes, so try every line length around 200. */
static void lines_have_any_length(void **state)
{
	static char line[40100], wanted[20001];

	(void)state;
	for (size_t bytes = 1; bytes <= 20000; bytes += bytes < 260 ? 1 : 9870) {
		memset(wanted, 'x', bytes);
		wanted[bytes] = '\0';
		snprintf(line, sizeof(line), "\n title = a;%s ; no\nrate = 7\n", wanted);
		assert_int_equal(read_text(line), 0);
		assert_string_equal(options.title + 2, wanted);
		assert_int_equal(options.rate_hz, 7);
		assert_int_equal(options_origin(&options, options_find("rate", 4))->line, 3);
		snprintf(line, sizeof(line), "# %s\n;%s\nrate = 8\nbad\n", wanted, wanted);
		refused(line, "f.ini:4: this is not 'name = value'");
		assert_int_equal(options.rate_hz, 8);
		snprintf(line, sizeof(line), "%sy ; =\nrate = 0\n", wanted);
		refused(line, "f.ini:1: this is not 'name = value'");
		snprintf(line, sizeof(line), "rate ; = %s\n", wanted);
		refused(line, "f.ini:1: this is not 'name = value'");
		snprintf(line, sizeof(line), "%s", wanted);
		refused(line, "f.ini:1: this is not 'name = value'");
	}
	snprintf(line, sizeof(line), "%s = 5\n", wanted);
	refused(line, "f.ini:1: this is not 'name = value'");
}

static void long_files_are_refused(void **state)
{
	const size_t bytes = (1 << 20) + 1;
	char *text = malloc(bytes);

	(void)state;
	memset(text, '\n', bytes);
	begin();
	assert_int_equal(read_bytes(text, bytes - 1, OPTIONS_USER_FILE, true), 0);
	begin();
	assert_int_equal(read_bytes(text, bytes, OPTIONS_USER_FILE, true), -EINVAL);
	assert_non_null(strstr(message.text, "1 MiB"));
	free(text);
}

/*
 * Unknown keys in a file at a default path cause only warnings, because the file may be written for
 * another version of flamerun.
 */
static void strange_keys_of_found_files_are_warnings(void **state)
{
	static const char text[] = "raet = 5\nrate = 6\n[other]\nrate = 7\nrate = 8\n";

	(void)state;
	begin();
	assert_int_equal(read_bytes(text, sizeof(text) - 1, OPTIONS_SYSTEM_FILE, false), 0);
	assert_int_equal(options.rate_hz, 6);
	assert_int_equal(config.warnings.count, 3);
	assert_string_equal(config.warnings.items[0],
		"f.ini:1: there is no setting 'raet' (did you mean rate?)");
	assert_string_equal(config.warnings.items[1], "f.ini:4: there is no section 'other'");
}

static void projects_set_what_is_harmless(void **state)
{
	static const char text[] = "output = /etc/x.svg\nopen = yes\nquiet = yes\nformat = png\n"
				   "rate = 5\npalette = hot\n[preset p]\nopen = yes\n";

	(void)state;
	begin();
	options.preset = "p";
	assert_int_equal(read_bytes(text, sizeof(text) - 1, OPTIONS_PROJECT_FILE, false), 0);
	assert_int_equal(options.outputs.count, 0);
	assert_int_equal(options.open, 0);
	assert_int_equal(options.level, DIAG_NORMAL);
	assert_null(options.format);
	assert_int_equal(options.rate_hz, 5);
	assert_int_equal(config.warnings.count, 5);
	assert_string_equal(
		config.warnings.items[0], "f.ini:1: a project's file may not say 'output'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_level_beats_those_below),
		cmocka_unit_test(config_replaces_and_no_config_skips),
		cmocka_unit_test(presets_have_to_exist),
		cmocka_unit_test(what_is_no_file_is_not_read),
		cmocka_unit_test(projects_of_others_are_not_read),
		cmocka_unit_test(projects_end_at_git_and_home),
		cmocka_unit_test(values_of_every_type),
		cmocka_unit_test(mistakes_are_named_with_their_line),
		cmocka_unit_test(binary_files_are_refused),
		cmocka_unit_test(lines_have_any_length),
		cmocka_unit_test(long_files_are_refused),
		cmocka_unit_test(strange_keys_of_found_files_are_warnings),
		cmocka_unit_test(projects_set_what_is_harmless),
	};

	for (size_t i = 0; i < sizeof(matrix) / sizeof(matrix[0]); i++)
		unsetenv(matrix[i].variable);
	return cmocka_run_group_tests(tests, begin_all, end_all);
}
