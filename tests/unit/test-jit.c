/* SPDX-License-Identifier: MIT */
/*
 * What --jit may be given, and what it comes to.
 */
#include "cli/run/jit.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/options.h"
#include "libprof/wire.h"

static void words_become_bits(void **state)
{
	(void)state;
	assert_int_equal(jit_mask("none"), 0);
	assert_int_equal(jit_mask(""), 0);
	assert_int_equal(jit_mask("python"), WIRE_JIT_PYTHON);
	assert_int_equal(jit_mask("none,python"), WIRE_JIT_PYTHON);
	assert_int_equal(jit_mask("python,python,"), WIRE_JIT_PYTHON);
	assert_int_equal(jit_mask("pythons"), 0);
	assert_int_equal(jit_mask("pytho"), 0);
	assert_int_equal(jit_mask(",,"), 0);
}

/* 0, or -EINVAL with what is wrong in @message. */
static int parse(const char *value, struct options *options, struct diag_message *message)
{
	char program[] = "flamerun", option[] = "--jit", copy[600];
	char *argv[] = {program, option, copy, NULL};
	int index = 1;

	assert_true(strlen(value) < sizeof(copy));
	strcpy(copy, value);
	options_init(options);
	memset(message, 0, sizeof(*message));
	return options_parse(options, 3, argv, &index, message);
}

static void every_word_is_checked(void **state)
{
	static const char *const wrong[] = {"", "py", "python,", ",python", "python,,python",
		"python,ruby", "python, none", "PYTHON"};
	struct diag_message message;
	struct options options;
	char endless[501];

	(void)state;
	options_init(&options);
	assert_string_equal(options.jit, "none");
	assert_int_equal(parse("none,python", &options, &message), 0);
	assert_string_equal(options.run_only, "jit");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(parse(wrong[i], &options, &message), -EINVAL);
	assert_int_equal(parse("python,pyton", &options, &message), -EINVAL);
	assert_string_equal(message.text, "--jit has no 'pyton'");
	assert_string_equal(message.hint, "did you mean python?");
	memset(endless, 'x', sizeof(endless) - 1);
	endless[sizeof(endless) - 1] = '\0';
	assert_int_equal(parse(endless, &options, &message), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_become_bits),
		cmocka_unit_test(every_word_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
