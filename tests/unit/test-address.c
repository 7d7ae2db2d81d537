/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* Parse addresses of profile stores, parse times, and escape string literals in queries. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/store/address.h"

#define NOW 1764000000

static struct store_address address;
static struct diag_message message;

static int parse(const char *text)
{
	return store_address_parse(&address, text, NOW, &message);
}

static void its_parts(void **unused)
{
	(void)unused;
	assert_int_equal(parse("clickhouse://me@db1,db2:99,[::1],[::1]:7/fleet_2"), 0);
	assert_false(address.is_secure);
	assert_int_equal(address.hosts, 4);
	assert_string_equal(address.host[0], "db1:8123");
	assert_string_equal(address.host[1], "db2:99");
	assert_string_equal(address.host[2], "[::1]:8123");
	assert_string_equal(address.host[3], "[::1]:7");
	assert_string_equal(address.database, "fleet_2");
	assert_string_equal(address.user, "me");
	assert_false(store_address_selects(&address));
	assert_int_equal(parse("clickhouses://db/f?service=a%20b&version=&host=%C3%A9&from=-1h&to=now"
			       "&timeout=5"), 0);
	assert_true(address.is_secure);
	assert_string_equal(address.host[0], "db:8443");
	assert_string_equal(address.label[STORE_SERVICE], "a b");
	assert_string_equal(address.label[STORE_VERSION], "");
	assert_string_equal(address.label[STORE_HOST], "\xc3\xa9");
	assert_int_equal(address.from_s, NOW - 3600);
	assert_int_equal(address.to_s, NOW);
	assert_int_equal(address.silent_s, 5);
	assert_true(store_address_selects(&address));
}

static void too_long(void **unused)
{
	char text[1024] = "clickhouse://db/f?service=";

	(void)unused;
	memset(text + strlen(text), 'x', STORE_LABEL_BYTES - 1);
	assert_int_equal(parse(text), 0);
	strcat(text, "x");
	assert_int_equal(parse(text), -EINVAL);
	strcpy(text, "clickhouse://");
	memset(text + strlen(text), 'h', STORE_LABEL_BYTES);
	strcat(text, "/db");
	assert_int_equal(parse(text), -EINVAL);
	strcpy(text, "clickhouse://h/");
	memset(text + strlen(text), 'd', sizeof(address.database));
	assert_int_equal(parse(text), -EINVAL);
}

static void times(void **unused)
{
	static const struct {
		const char *text;
		int64_t time_s; /* -1: none */
	} cases[] = {{"now", NOW}, {"-90s", NOW - 90}, {"-5m", NOW - 300}, {"-7d", NOW - 7 * 86400},
		{"0", 0}, {"4294967295", UINT32_MAX}, {"4294967296", -1}, {"1970-01-02", 86400},
		{"1970-01-01T01:00", 3600}, {"1970-01-01T00:00:09", 9}, {"1969-12-31", -1},
		{"2026-13-01", -1}, {"-", -1}, {"-1", -1}, {"-1y", -1}, {"-1h ", -1}, {"--1h", -1},
		{"", -1}, {"1x", -1}, {"99999999999999999999", -1}, {"-999999999d", 0}};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t time_s = -2;
		int error = store_time_parse(cases[i].text, NOW, &time_s);

		assert_int_equal(error, cases[i].time_s < 0 ? -EINVAL : 0);
		assert_int_equal(time_s, error ? -2 : cases[i].time_s);
	}
}

/*
 * Decode a string literal as a server does. @at points behind the first quote. Returns the
 * literal's end.
 */
static const char *read_literal(const char *at, char *out)
{
	for (; *at != '\''; at++) {
		assert_true(*at);
		if (*at != '\\') {
			*out++ = *at;
		} else if (*++at == 'x') {
			char digits[3] = {at[1], at[2], '\0'};

			*out++ = (char)strtoul(digits, NULL, 16);
			at += 2;
		} else {
			*out++ = *at;
		}
	}
	*out = '\0';
	return at + 1;
}

static void literals_cannot_end_early(void **unused)
{
	static const char *const texts[] = {"", "it's", "\\", "\\'", "''", "a\\",
		"'; DROP TABLE x --",
		"\n\t\r\b\x01\x7f", "\\x41", "\xff\xfe", "é"};

	(void)unused;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct bytes query = {0};
		char read[256];

		store_put_literal(&query, texts[i]);
		bytes_put(&query, "", 1);
		assert_int_equal(query.data[0], '\'');
		assert_int_equal(*read_literal((char *)query.data + 1, read), '\0');
		assert_string_equal(read, texts[i]);
		bytes_release(&query);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_parts),
		cmocka_unit_test(too_long),
		cmocka_unit_test(times),
		cmocka_unit_test(literals_cannot_end_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
