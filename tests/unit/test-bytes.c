/* SPDX-License-Identifier: MIT */
/* Dense text says the bytes that it was made of, in digits that XML takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "render/bytes.h"

#define MOST 3000

/* Not markup, not a control, not a space, not unseen. */
static int is_digit(unsigned code)
{
	return code > ' ' && !(code >= 0x7f && code <= 0xa0) && code != 0xad && code != 0x61c &&
	       code < 0x800 && (code > 0x7f || !strchr("<>&", (int)code));
}

/* As render/bytes.h says it. Returns how many bytes. */
static size_t read_dense(const uint8_t *text, size_t length, uint8_t *bytes)
{
	static unsigned digits[0x800];
	uint64_t number = 0;
	size_t used = 0;

	for (unsigned code = 0, digit = 0; code < 0x800; code++)
		digits[code] = is_digit(code) ? digit++ : 0;
	while (text[length - 1] != '\n')
		length--;
	for (size_t i = length; text[i]; i++)
		number = number * 10 + text[i] - '0';
	while (length) {
		unsigned code = text[--length];

		if (code == '\n')
			continue;
		if (code >= 0x80) {
			assert_int_equal(code & 0xc0, 0x80);
			assert_true(length && text[length - 1] >= 0xc2 && text[length - 1] < 0xe0);
			code = (text[--length] & 0x1fu) << 6 | (code & 0x3f);
		}
		assert_true(is_digit(code));
		unsigned digit = digits[code], share = digit < 91 ? 108 : 1;

		for (; number >= (uint64_t)share << 17; number >>= 8)
			bytes[used++] = (uint8_t)number;
		number = number / share * 11713 + number % share +
			 (digit < 91 ? digit * 108 : 91 * 108 + digit - 91);
	}
	assert_int_equal(number, 11713 << 9);
	return used;
}

/* How many bytes its text has. */
static size_t check(const uint8_t *data, size_t length)
{
	struct bytes text = {0};
	uint8_t read[2 * MOST];

	bytes_dense(&text, data, length);
	bytes_put(&text, "", 1);
	assert_int_equal(text.error, 0);
	size_t used = text.used - 1, zeros = read_dense(text.data, used, read) - length;

	assert_true(zeros <= 2);
	for (size_t i = 0; i < zeros; i++)
		assert_int_equal(read[i], 0);
	assert_memory_equal(read + zeros, data, length);
	bytes_release(&text);
	return used;
}

static void test_dense_text_says_the_bytes(void **state)
{
	uint8_t data[MOST];

	(void)state;
	for (unsigned fill = 0; fill < 256; fill++) {
		memset(data, (int)fill, sizeof(data));
		for (size_t length = 0; length < 40; length++)
			check(data, length);
	}
	srandom(7);
	for (unsigned round = 0; round < 2000; round++) {
		size_t length = (size_t)random() % (round % 20 ? 60 : MOST);

		for (size_t i = 0; i < length; i++)
			data[i] = (uint8_t)(random() >> 8);
		/* 6.76 bits in a byte, line ends, and what the number is at the end. */
		assert_true(check(data, length) < length * 119 / 100 + 24);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dense_text_says_the_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
