/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * What is written into the cache comes back; what is not as it was written does not, and nothing is
 * read or written through links.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/symbols/cache_file.h"
#include "cli/symbols/debug_cache.h"
#include "tests/unit/elf_fixture.h"

static const uint8_t id[] = {0xab, 0xcd, 0x01, 0x23, 0x45};

#define FILE_NAME "flamerun/lines/abcd012345"

static const struct inlines_frame frames[] = {
	{"outer", "/src/a.c", 3}, {"inner", "/src/b.c", 5}, {"", "/src/a.c", 0}};

/* @count addresses from @first on, of which every second has a chain. */
static struct inlines *make_list(uint64_t first, size_t count)
{
	struct inlines *list = inlines_new(count);

	assert_non_null(list);
	for (size_t i = 0; i < count; i++) {
		list->addresses[i] = first + i;
		if (i % 2)
			list->chains[i] = (struct inlines_chain){frames, 1 + i % 3};
	}
	return list;
}

static void check_list(const struct inlines *list, uint64_t first, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct inlines_chain *chain = inlines_find(list, first + i);

		assert_non_null(chain);
		assert_int_equal(chain->count, i % 2 ? 1 + i % 3 : 0);
		for (uint32_t j = 0; j < chain->count; j++) {
			assert_string_equal(chain->frames[j].name, frames[j].name);
			assert_string_equal(chain->frames[j].file, frames[j].file);
			assert_int_equal(chain->frames[j].line, frames[j].line);
		}
	}
}

static void write_list(uint64_t first, size_t count)
{
	struct inlines *list = make_list(first, count);

	debug_cache_write(id, sizeof(id), (const struct inlines *const *)&list, 1);
	inlines_free(list);
}

static void assert_nothing(void)
{
	assert_null(debug_cache_read(id, sizeof(id)));
}

/* An empty cache. */
static int setup(void **state)
{
	(void)state;
	fixture_run("rm -rf cache && mkdir -m 700 cache");
	setenv("XDG_CACHE_HOME", fixture_path("cache"), 1);
	return 0;
}

static const char *cached_path(void)
{
	return fixture_path("cache/" FILE_NAME);
}

static void test_round(void **state)
{
	struct inlines *lists[2] = {make_list(1000, 50), make_list(10, 7)};
	struct inlines *again;
	struct stat status;

	(void)state;
	assert_nothing();
	assert_int_equal(access(fixture_path("cache/flamerun"), F_OK), -1);
	debug_cache_write(id, sizeof(id), (const struct inlines *const *)lists, 2);
	again = debug_cache_read(id, sizeof(id));
	assert_non_null(again);
	assert_int_equal(again->count, 57);
	check_list(again, 1000, 50);
	check_list(again, 10, 7);
	assert_null(inlines_find(again, 17));
	inlines_free(again);
	inlines_free(lists[0]);
	inlines_free(lists[1]);
	assert_int_equal(stat(cached_path(), &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_null(debug_cache_read(id, sizeof(id) - 1));
	fixture_run("test \"$(ls -A cache/flamerun/lines)\" = abcd012345");
}

static void test_replaced(void **state)
{
	struct inlines *again;

	(void)state;
	write_list(10, 7);
	write_list(20, 3);
	again = debug_cache_read(id, sizeof(id));
	assert_int_equal(again->count, 3);
	check_list(again, 20, 3);
	inlines_free(again);
}

/* Each byte another one, and each shorter file. */
static void test_damaged(void **state)
{
	char *whole;
	size_t bytes;
	FILE *file;

	(void)state;
	write_list(10, 7);
	file = fopen(cached_path(), "r+");
	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	bytes = (size_t)ftell(file);
	whole = malloc(bytes);
	rewind(file);
	assert_int_equal(fread(whole, 1, bytes, file), bytes);
	setvbuf(file, NULL, _IONBF, 0);
	for (size_t i = 0; i < bytes; i++) {
		fseek(file, (long)i, SEEK_SET);
		fputc(whole[i] ^ 1, file);
		assert_nothing();
		fseek(file, (long)i, SEEK_SET);
		fputc(whole[i], file);
	}
	inlines_free(debug_cache_read(id, sizeof(id)));
	for (size_t i = bytes; i-- > 0;) {
		assert_int_equal(ftruncate(fileno(file), (off_t)i), 0);
		assert_nothing();
	}
	fclose(file);
	free(whole);
}

/* A sound file of another build-id, whose name was given to it. */
static void test_renamed(void **state)
{
	(void)state;
	write_list(10, 7);
	fixture_run("cd cache/flamerun/lines && mv abcd012345 abcd012346");
	assert_null(debug_cache_read((const uint8_t *)"\xab\xcd\x01\x23\x46", 5));
}

static void test_links(void **state)
{
	(void)state;
	write_list(10, 7);
	fixture_run("cd cache/flamerun/lines && mv abcd012345 ../real && ln -s ../real abcd012345");
	assert_nothing();
	fixture_run("cp cache/flamerun/real before");
	write_list(20, 3);
	fixture_run("cmp before cache/flamerun/real && test ! -L cache/" FILE_NAME);
	fixture_run("cd cache/flamerun && mv lines other && ln -s other lines");
	assert_nothing();
	fixture_run("cp cache/flamerun/other/abcd012345 before");
	write_list(30, 3);
	fixture_run("cmp before cache/flamerun/other/abcd012345");
}

static void test_refused(void **state)
{
	(void)state;
	write_list(10, 7);
	fixture_run("chmod 777 cache/flamerun");
	assert_nothing();
	fixture_run("chmod 700 cache/flamerun && rm -r cache/flamerun/lines && "
		    "mkfifo cache/flamerun/lines");
	write_list(10, 7);
	assert_nothing();
	setenv("XDG_CACHE_HOME", "/proc/self", 1);
	write_list(10, 7);
	assert_nothing();
	setenv("XDG_CACHE_HOME", "cache", 1);
	setenv("HOME", "/proc/self", 1);
	write_list(10, 7);
	assert_nothing();
	unsetenv("HOME");
	write_list(10, 7);
	assert_nothing();
}

static void test_home(void **state)
{
	struct inlines *again;

	(void)state;
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", fixture_path("cache"), 1);
	write_list(10, 7);
	again = debug_cache_read(id, sizeof(id));
	assert_non_null(again);
	inlines_free(again);
	assert_int_equal(access(fixture_path("cache/.cache/" FILE_NAME), F_OK), 0);
}

static void test_oldest_go(void **state)
{
	struct inlines *again;

	(void)state;
	write_list(10, 7);
	fixture_run("cd cache/flamerun/lines && truncate -s %u oldest newer newest && "
		    "touch -d '2001-01-01' oldest && touch -d '2002-01-01' newer",
		CACHE_FILE_ALL_BYTES / 2 - 4096);
	write_list(20, 3);
	fixture_run("cd cache/flamerun/lines && test ! -e oldest -a -e newer -a -e newest");
	again = debug_cache_read(id, sizeof(id));
	assert_non_null(again);
	inlines_free(again);
}

/* More than a file may have: what was given last is in it. */
static void test_too_much(void **state)
{
	struct inlines *lists[2] = {
		make_list(1u << 30, DEBUG_CACHE_FILE_BYTES / 12), make_list(10, 7)};
	struct inlines *again;
	struct stat status;

	(void)state;
	debug_cache_write(id, sizeof(id), (const struct inlines *const *)lists, 2);
	again = debug_cache_read(id, sizeof(id));
	assert_non_null(again);
	check_list(again, 10, 7);
	assert_true(again->count > 7 && again->count < lists[0]->count);
	inlines_free(again);
	inlines_free(lists[0]);
	inlines_free(lists[1]);
	assert_int_equal(stat(cached_path(), &status), 0);
	assert_in_range(status.st_size, 1, DEBUG_CACHE_FILE_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_round, setup),
		cmocka_unit_test_setup(test_replaced, setup),
		cmocka_unit_test_setup(test_damaged, setup),
		cmocka_unit_test_setup(test_renamed, setup),
		cmocka_unit_test_setup(test_links, setup),
		cmocka_unit_test_setup(test_refused, setup),
		cmocka_unit_test_setup(test_home, setup),
		cmocka_unit_test_setup(test_oldest_go, setup),
		cmocka_unit_test_setup(test_too_much, setup),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
