/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/* Test the cache of unwind rows: hits, misses, and torn entries, which must be misses. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "libprof/unwind/rowcache.h"

static struct rowcache cache;

static int setup(void **state)
{
	(void)state;
	memset(&cache, 0, sizeof(cache));
	return 0;
}

static void test_found_again(void **state)
{
	(void)state;
	for (uintptr_t pc = 0x400000; pc < 0x400100; pc++)
		rowcache_put(&cache, rowcache_key(pc, 3), pc << 8 | 1);
	for (uintptr_t pc = 0x400000; pc < 0x400100; pc++)
		assert_int_equal(rowcache_get(&cache, rowcache_key(pc, 3)), pc << 8 | 1);
	assert_int_equal(rowcache_get(&cache, rowcache_key(0x400100, 3)), 0);
}

static void test_another_module_at_the_same_address(void **state)
{
	(void)state;
	rowcache_put(&cache, rowcache_key(0x7f0000001000, 1), 0x11);
	assert_int_equal(rowcache_get(&cache, rowcache_key(0x7f0000001000, 2)), 0);
	rowcache_put(&cache, rowcache_key(0x7f0000001000, 2), 0x22);
	assert_int_equal(rowcache_get(&cache, rowcache_key(0x7f0000001000, 1)), 0x11);
	assert_int_equal(rowcache_get(&cache, rowcache_key(0x7f0000001000, 2)), 0x22);
}

/* An empty entry is never a hit, whatever key the zeroes would match. */
static void test_empty(void **state)
{
	(void)state;
	assert_int_equal(rowcache_get(&cache, 0), 0);
	assert_int_equal(rowcache_get(&cache, rowcache_mix(0)), 0);
}

/* Of three keys in one set of two ways, the two that were stored last stay. */
static void test_ways(void **state)
{
	uint64_t keys[3];
	unsigned found = 0;

	(void)state;
	for (uint64_t key = rowcache_key(0x1000, 1); found < 3; key++) {
		if (rowcache_set(&cache, key) == &cache.set[7])
			keys[found++] = key;
	}
	for (unsigned i = 0; i < 3; i++)
		rowcache_put(&cache, keys[i], 0x100 + i);
	assert_int_equal(rowcache_get(&cache, keys[0]), 0);
	assert_int_equal(rowcache_get(&cache, keys[1]), 0x101);
	assert_int_equal(rowcache_get(&cache, keys[2]), 0x102);
}

/* Try all mixtures of the words of two entries with similar rows and keys. */
static void test_torn_entries_are_misses(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 64; i++) {
		uint64_t key_a = rowcache_key(0x401000, 1);
		uint64_t key_b = rowcache_key(0x401000 ^ (1ULL << i % 47), 1);
		uint64_t row_a = 0xffff000000000801, row_b = row_a ^ 1ULL << i;
		struct rowcache_entry torn = {
			.check = key_a ^ rowcache_mix(row_a), .row = row_b};

		if (!row_b)
			continue;
		for (unsigned which = 0; which < 2; which++) {
			uint64_t key = which ? key_b : key_a;

			memset(&cache, 0, sizeof(cache));
			rowcache_set(&cache, key)->way[0] = torn;
			assert_int_equal(rowcache_get(&cache, key), 0);
		}
	}
}

/* A row is computed from its key, so that a wrong hit is detected. */
static uint64_t row_of(uint64_t key)
{
	return key * 0x2545f4914f6cdd1dULL | 1;
}

static void *hammer(void *argument)
{
	uint64_t seed = (uintptr_t)argument, wrong = 0, hits = 0;

	for (unsigned i = 0; i < 2000000; i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;

		uint64_t key = rowcache_key(0x1000 + (seed >> 40) % 40, 1 + (seed >> 60));
		uint64_t row = rowcache_get(&cache, key);

		hits += row != 0;
		wrong += row && row != row_of(key);
		if (!row || seed >> 63)
			rowcache_put(&cache, key, row_of(key));
	}
	return (void *)(uintptr_t)(wrong ? 2 : hits > 1000);
}

static void test_threads_never_see_each_others_rows(void **state)
{
	pthread_t threads[4];

	(void)state;
	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hammer, (void *)(i + 1)), 0);
	for (unsigned i = 0; i < 4; i++) {
		void *result;

		pthread_join(threads[i], &result);
		assert_int_equal((uintptr_t)result, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_found_again, setup),
		cmocka_unit_test_setup(test_another_module_at_the_same_address, setup),
		cmocka_unit_test_setup(test_empty, setup),
		cmocka_unit_test_setup(test_ways, setup),
		cmocka_unit_test_setup(test_torn_entries_are_misses, setup),
		cmocka_unit_test_setup(test_threads_never_see_each_others_rows, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
