/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* Read JSON in place, and refuse everything that is not JSON. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/formats/json.h"

/* The input is on the heap, so that a sanitizer detects reads beyond it. */
static char *text;

static int begin(const char *wanted, struct json *value)
{
	size_t bytes = strlen(wanted);

	free(text);
	text = malloc(bytes + !bytes);
	assert_non_null(text);
	memcpy(text, wanted, bytes);
	return json_begin(text, bytes, value);
}

static struct json value_of(const char *wanted)
{
	struct json value;

	assert_int_equal(begin(wanted, &value), 0);
	return value;
}

static void assert_text(const char *wanted, size_t room, const char *expected)
{
	struct json value = value_of(wanted);
	char out[64];

	assert_int_equal(json_text(&value, out, room), 0);
	assert_string_equal(out, expected);
}

static void texts_are_decoded(void **state)
{
	(void)state;
	assert_text("\"a b\"", 64, "a b");
	assert_text(" \"\" ", 64, "");
	assert_text("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", 64, "\"\\/\b\f\n\r\t");
	assert_text("\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"", 64, "A\u00e9\u20ac\U0001f600");
	assert_text("\"\\ud800x\\udc00\\ud800\\u0041\\u0000\"", 64,
		"\ufffdx\ufffd\ufffdA\ufffd");
	/* Cut between characters. */
	assert_text("\"abc\"", 3, "ab");
	assert_text("\"a\\u20ac\"", 4, "a");
	assert_text("\"a\\u20ac\"", 5, "a\u20ac");
}

static void numbers_are_read(void **state)
{
	static const char *const no_numbers[] = {
		"\"1\"", "nan", "inf", "0x10", "1e999", "--1", "1.2.3", "[1]", "true", "-", "e"};
	struct json value;
	double number;
	uint32_t index;

	(void)state;
	value = value_of("-12.5e1");
	assert_int_equal(json_number(&value, &number), 0);
	assert_true(number == -125);
	assert_int_equal(json_index(&value, 1000, &index), -EBADMSG);
	value = value_of("999");
	assert_int_equal(json_index(&value, 1000, &index), 0);
	assert_int_equal(index, 999);
	assert_int_equal(json_index(&value, 999, &index), -EBADMSG);
	value = value_of("99999999999999999999999999");
	assert_int_equal(json_index(&value, UINT32_MAX, &index), -EBADMSG);
	for (size_t i = 0; i < sizeof(no_numbers) / sizeof(no_numbers[0]); i++) {
		value = value_of(no_numbers[i]);
		assert_int_equal(json_number(&value, &number), -EBADMSG);
	}
}

static void lists_and_objects_are_walked(void **state)
{
	struct json root, list, item, member;
	uint32_t number;

	(void)state;
	root = value_of(" {\"a\" : [1, [2,\"]\\\"\"], {} ,3 ] , \"b\":null,\"a\":4} ");
	assert_true(json_is_object(&root));
	assert_int_equal(json_list(&root, &list), -EBADMSG);
	assert_int_equal(json_member(&root, "b", &member), 1);
	assert_int_equal(json_member(&root, "c", &member), 0);
	assert_int_equal(json_member(&root, "a", &member), 1); /* the first */
	assert_int_equal(json_list(&member, &list), 0);
	assert_int_equal(json_next(&list, &item), 1);
	assert_int_equal(json_index(&item, 10, &number), 0);
	assert_int_equal(number, 1);
	assert_int_equal(json_next(&list, &item), 1);
	assert_int_equal(item.end - item.at, strlen("[2,\"]\\\"\"]"));
	assert_int_equal(json_next(&list, &item), 1);
	assert_int_equal(json_object(&item, &item), 0);
	assert_int_equal(json_next_member(&item, &item, &member), 0);
	assert_int_equal(json_next(&list, &item), 1);
	assert_int_equal(json_next(&list, &item), 0);
	assert_int_equal(json_next(&list, &item), 0);
}

static void damage_is_found(void **state)
{
	static const char *const no_values[] = {"", " ", "\"", "\"\\\"", "\"a\\", "[", "{", "[1",
		"[1}", "{]", "[[]", "]", ",", "1 2", "{} {}", "[\"]"};
	static const char *const no_lists[] = {"[1 2]", "[1,]", "[,1]", "[1,,2]", "[:]"};
	static const char *const no_objects[] = {
		"{1:2}", "{\"a\"}", "{\"a\":}", "{\"a\" 1}", "{\"a\":1,}", "{\"a\":1 \"b\":2}"};
	struct json value, list, item, other;
	int more;

	(void)state;
	for (size_t i = 0; i < sizeof(no_values) / sizeof(no_values[0]); i++)
		assert_int_equal(begin(no_values[i], &value), -EBADMSG);
	for (size_t i = 0; i < sizeof(no_lists) / sizeof(no_lists[0]); i++) {
		value = value_of(no_lists[i]);
		assert_int_equal(json_list(&value, &list), 0);
		while ((more = json_next(&list, &item)) > 0)
			;
		assert_int_equal(more, -EBADMSG);
	}
	for (size_t i = 0; i < sizeof(no_objects) / sizeof(no_objects[0]); i++) {
		value = value_of(no_objects[i]);
		assert_int_equal(json_object(&value, &list), 0);
		while ((more = json_next_member(&list, &item, &other)) > 0)
			;
		assert_int_equal(more, -EBADMSG);
	}
}

static void depth_is_bounded(void **state)
{
	char deep[2 * JSON_DEPTH_MAX + 3];
	struct json value;

	(void)state;
	for (unsigned extra = 0; extra < 2; extra++) {
		unsigned depth = JSON_DEPTH_MAX + extra;

		memset(deep, '[', depth);
		memset(deep + depth, ']', depth);
		deep[2 * depth] = '\0';
		assert_int_equal(begin(deep, &value), extra ? -EBADMSG : 0);
	}
}

static int release(void **state)
{
	(void)state;
	free(text);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_decoded),
		cmocka_unit_test(numbers_are_read),
		cmocka_unit_test(lists_and_objects_are_walked),
		cmocka_unit_test(damage_is_found),
		cmocka_unit_test(depth_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, release);
}
