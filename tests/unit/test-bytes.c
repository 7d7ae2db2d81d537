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

/* As render/bytes.h says it. Returns how many bytes. */
static size_t read_dense(const char *text, size_t length, uint8_t *bytes)
{
	unsigned digits[2 * MOST];
	size_t count = 0, used = 0;
	uint64_t bits = 0;
	unsigned have = 0;

	for (size_t i = 0; i < length; i++) {
		if (text[i] == '\n')
			continue;
		assert_true(text[i] > ' ' && text[i] < 0x7f && !strchr("<>&", text[i]));
		digits[count] = 0;
		for (char one = '!'; one < text[i]; one++)
			digits[count] += !strchr("<>&", one);
		count++;
	}
	for (size_t i = 0; i < count; i += 2) {
		unsigned value = digits[i] + (i + 1 < count ? 91 * digits[i + 1] : 0);

		bits |= (uint64_t)value << have;
		have += i + 1 == count ? 7 : (value & 8191) < 89 ? 14 : 13;
		for (; have >= 8; have -= 8, bits >>= 8)
			bytes[used++] = (uint8_t)bits;
	}
	assert_int_equal(bits, 0);
	return used;
}

static void check(const uint8_t *data, size_t length)
{
	struct bytes text = {0};
	uint8_t read[2 * MOST];

	bytes_dense(&text, data, length);
	assert_int_equal(text.error, 0);
	assert_int_equal(read_dense((const char *)text.data, text.used, read), length);
	assert_memory_equal(read, data, length);
	/* Two digits for 13 bits, and line ends. */
	assert_true(text.used <= (length * 8 + 12) / 13 * 2 + length / 400);
	bytes_release(&text);
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
		check(data, length);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dense_text_says_the_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
