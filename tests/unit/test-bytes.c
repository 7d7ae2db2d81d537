/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
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

/* Not what ends the section, not a control, not a space, not unseen. */
static int is_digit(unsigned code)
{
	return code == '\n' ||
	       (code > ' ' && code != ']' && !(code >= 0x7f && code <= 0xa0) && code != 0xad &&
		       code != 0x61c && !(code >= 0x800 && code < 0x2100) && code < 0xd800);
}

/* The last character before @length. */
static unsigned read_code(const uint8_t *text, size_t *length)
{
	unsigned code = 0;
	uint8_t byte;

	for (unsigned shift = 0; (byte = text[--*length]) >= 0x80; shift += 6) {
		code |= (byte & 0x3fu) << shift;
		if (byte < 0xc0)
			continue;
		assert_true(shift == (byte < 0xe0 ? 6u : 12u));
		return byte < 0xe0 ? code & 0x7ff : code & 0xffff;
	}
	return byte;
}

/* As render/bytes.h says it. Returns how many bytes. */
static size_t read_dense(const uint8_t *text, size_t length, uint8_t *bytes)
{
	static unsigned shares[0xd800], places[0xd800];
	unsigned all = 0;
	uint64_t number = 0;
	size_t used = 0;

	for (unsigned code = 0; code < 0xd800; code++) {
		shares[code] = !is_digit(code) ? 0 : code < 0x80 ? 13000 : code < 0x800 ? 114 : 1;
		places[code] = all;
		all += shares[code];
	}
	while (text[length - 1] != ' ')
		length--;
	for (size_t i = length--; text[i]; i++)
		number = number * 10 + text[i] - '0';
	while (length) {
		unsigned code = read_code(text, &length), share = shares[code];

		assert_true(share);
		for (; number >= (uint64_t)share << 17; number >>= 8)
			bytes[used++] = (uint8_t)number;
		number = number / share * all + places[code] + number % share;
	}
	assert_int_equal(number, (uint64_t)all << 9);
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

	assert_true(zeros <= 4);
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
		/* 6.83 bits in a byte, and what the number is at the end. */
		assert_true(check(data, length) < length * 1175 / 1000 + 24);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dense_text_says_the_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
