/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Expand placeholders in messages, and check the tables of messages. Every text must expand,
 * because no compiler finds a mistyped placeholder.
 */
#include "cli/explain.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprof/wire.h"

static const struct explain_facts facts = {
	.name = "NAME", .other = "OTHER", .why = "WHY", .n = 7, .percent = 12.34, .seconds = 5.678};

static void assert_expands(const char *text, const struct explain_facts *from, const char *expected)
{
	char out[256];

	explain_expand(out, sizeof(out), text, from);
	assert_string_equal(out, expected);
}

static void placeholders(void **state)
{
	const struct explain_facts one = {.n = 1};

	(void)state;
	assert_expands("", &facts, "");
	assert_expands("plain 100 %", &facts, "plain 100 %");
	assert_expands("{name}, {other}: {why}", &facts, "NAME, OTHER: WHY");
	assert_expands("{n} {thread|threads}", &facts, "7 threads");
	assert_expands("{n} {thread|threads}{| each}", &one, "1 thread");
	assert_expands("{percent} % of {seconds} s", &facts, "12.3 % of 5.68 s");
	assert_expands("'{name}'", &one, "''");
	assert_expands("{nam} {namely}", &facts, "{nam} {namely}");
	assert_expands("{name", &facts, "{name");
}

/* The value of a placeholder is not expanded again, because it may be any file's name. */
static void facts_are_plain(void **state)
{
	const struct explain_facts odd = {.name = "{why}%s", .why = "WHY"};

	(void)state;
	assert_expands("'{name}'", &odd, "'{why}%s'");
}

static void room(void **state)
{
	char out[8];

	(void)state;
	explain_expand(out, sizeof(out), "123{name}{other}", &facts);
	assert_string_equal(out, "123NAME");
	explain_expand(out, 1, "123", &facts);
	assert_string_equal(out, "");
}

static void assert_complete(const char *text)
{
	char out[2 * DIAG_TEXT_BYTES];

	if (!text)
		return;
	explain_expand(out, sizeof(out), text, &facts);
	if (strpbrk(out, "{}") || strlen(out) >= DIAG_TEXT_BYTES)
		fail_msg("'%s' is not expanded or too long", out);
}

static void all_texts_expand(void **state)
{
	static const char *const texts[] = {
#define EXPLAIN(cause, message, hint) message, hint,
#include "cli/explain.def"
#undef EXPLAIN
#define COUNTER(name, message, hint)	message, hint,
#define QUIT(name, message, hint)	message, hint,
#define UNPROFILED(name, message, hint) message, hint,
#define UNSAMPLED(name, message, hint)	message, hint,
#include "libprof/wire_counters.def"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_complete(texts[i]);
}

/* A cause has a message, a hint or both. If it has only a hint, the message stays unchanged. */
static void messages(void **state)
{
	struct diag_message message = {0};

	(void)state;
	assert_int_equal(explain(&message, -EPERM, EXPLAIN_OTHER_USER, &facts), -EPERM);
	assert_string_equal(message.text, "process NAME belongs to OTHER");
	assert_non_null(strstr(message.hint, "as root"));
	assert_int_equal(explain(&message, 0, EXPLAIN_MISTYPED, &facts), 0);
	assert_string_equal(message.text, "process NAME belongs to OTHER");
	assert_string_equal(message.hint, "did you mean OTHER?");
	assert_int_equal(explain(&message, -EINVAL, EXPLAIN_FLAMERUN, &facts), -EINVAL);
	assert_string_equal(message.hint, "");
	assert_int_equal(explain(NULL, -EINVAL, EXPLAIN_FLAMERUN, &facts), -EINVAL);
}

static void users(void **state)
{
	char name[64];

	(void)state;
	explain_user(name, sizeof(name), 0);
	assert_string_equal(name, "root");
	explain_user(name, sizeof(name), 4000000001U);
	assert_string_equal(name, "uid 4000000001");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(placeholders),
		cmocka_unit_test(facts_are_plain),
		cmocka_unit_test(room),
		cmocka_unit_test(all_texts_expand),
		cmocka_unit_test(messages),
		cmocka_unit_test(users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
