/* SPDX-License-Identifier: MIT */
/* One settings file: what is read, and what is refused and where it is said to be. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "render/picture.h"
#include "tests/unit/config-fixture.h"

/* Read @bytes of @text as if they were the file f.ini. */
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
	refused("hide = a(b\n", "f.ini:1: hide: Unmatched ( or \\( at character 2 of 'a(b'");
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

/* inih's buffer ends at 200 bytes, so lengths around that are looked at one by one. */
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

/* What nobody named may be of another version of flamerun: it is said, and the rest counts. */
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

static int release(void **state)
{
	(void)state;
	config_release(&config);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_every_type),
		cmocka_unit_test(mistakes_are_named_with_their_line),
		cmocka_unit_test(binary_files_are_refused),
		cmocka_unit_test(lines_have_any_length),
		cmocka_unit_test(long_files_are_refused),
		cmocka_unit_test(strange_keys_of_found_files_are_warnings),
		cmocka_unit_test(projects_set_what_is_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, release);
}
