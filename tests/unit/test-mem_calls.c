/* SPDX-License-Identifier: MIT */
/*
 * The library's own memcpy(), memmove() and so on must do what libc's do, for all small sizes, at
 * all alignments, and if source and destination overlap.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/random.h"

void *own_memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *own_memmove(void *to, const void *from, size_t bytes);
void *own_memset(void *to, int byte, size_t bytes);
int own_memcmp(const void *a, const void *b, size_t bytes);
int own_bcmp(const void *a, const void *b, size_t bytes);
int own_strncmp(const char *a, const char *b, size_t bytes);
size_t own_strlen(const char *text);

/* Rename the library's functions, because the test and cmocka call libc's. */
#define memcpy	own_memcpy
#define memmove own_memmove
#define memset	own_memset
#define memcmp	own_memcmp
#define bcmp	own_bcmp
#define strncmp own_strncmp
#define strlen	own_strlen
#include "libprof/sampler/mem_calls.c"
#undef memcpy
#undef memmove
#undef memset
#undef memcmp
#undef bcmp
#undef strncmp
#undef strlen

#define ROOM 96

static uint8_t before[ROOM], ours[ROOM], libcs[ROOM];

static void fill(void)
{
	for (unsigned i = 0; i < ROOM; i++)
		before[i] = (uint8_t)(random_below(255) + 1);
	memcpy(ours, before, ROOM);
	memcpy(libcs, before, ROOM);
}

static int sign(int number)
{
	return (number > 0) - (number < 0);
}

static void copies_are_libcs(void **state)
{
	(void)state;
	for (unsigned bytes = 0; bytes < 40; bytes++) {
		for (unsigned at = 0; at < 9; at++) {
			fill();
			assert_ptr_equal(own_memcpy(ours + at, before + 50, bytes), ours + at);
			memcpy(libcs + at, before + 50, bytes);
			assert_memory_equal(ours, libcs, ROOM);
			assert_ptr_equal(own_memset(ours + at, -2, bytes), ours + at);
			memset(libcs + at, -2, bytes);
			assert_memory_equal(ours, libcs, ROOM);
		}
	}
}

static void overlapping_ones_are_libcs(void **state)
{
	(void)state;
	for (unsigned bytes = 0; bytes < 40; bytes++) {
		for (unsigned to = 0; to < 40; to++) {
			fill();
			assert_ptr_equal(own_memmove(ours + to, ours + 20, bytes), ours + to);
			memmove(libcs + to, libcs + 20, bytes);
			assert_memory_equal(ours, libcs, ROOM);
		}
	}
}

static void comparisons_are_libcs(void **state)
{
	const char *a = (const char *)ours + 3, *b = (const char *)before + 3;

	(void)state;
	for (unsigned bytes = 0; bytes < 40; bytes++) {
		for (unsigned other = 0; other <= bytes; other++) {
			int expected;

			fill();
			ours[3 + other] = (uint8_t)random_below(256);
			expected = sign(memcmp(ours + 3, before + 3, bytes));
			assert_int_equal(sign(own_memcmp(ours + 3, before + 3, bytes)), expected);
			assert_int_equal(own_bcmp(ours + 3, before + 3, bytes) != 0, expected != 0);
			if (other % 2) /* both end there */
				ours[3 + other] = before[3 + other] = 0;
			expected = sign(strncmp(a, b, bytes));
			assert_int_equal(sign(own_strncmp(a, b, bytes)), expected);
		}
		ours[5 + bytes] = 0;
		assert_int_equal(own_strlen((const char *)ours + 5), strlen((char *)ours + 5));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_are_libcs),
		cmocka_unit_test(overlapping_ones_are_libcs),
		cmocka_unit_test(comparisons_are_libcs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
