/* SPDX-License-Identifier: MIT */
/*
 * Our own mappings, read and asked.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/gather/maps.h"

static void test_finds_what_is_mapped(void **state)
{
	struct maps maps = {0};
	const struct mapping *code;
	char exe[4096] = "";

	(void)state;
	assert_int_equal(maps_read(&maps, getpid()), 1);
	code = maps_find(&maps, (uintptr_t)test_finds_what_is_mapped);
	assert_non_null(code);
	assert_true(code->is_code);
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_string_equal(code->path, exe);
	assert_null(maps_find(&maps, 4096));
	assert_null(maps_find(&maps, UINTPTR_MAX));
	for (unsigned i = 1; i < maps.count; i++)
		assert_true(maps.list[i].start >= maps.list[i - 1].end);
	maps_release(&maps);
}

/* A child that does nothing until it is told to map a page, and then nothing more. */
static pid_t start_child(int orders[2], int answers[2])
{
	char word = 0;
	pid_t child;

	assert_int_equal(pipe(orders), 0);
	assert_int_equal(pipe(answers), 0);
	child = fork();
	if (child)
		return child;
	while (write(answers[1], &word, 1) == 1 && read(orders[0], &word, 1) == 1)
		mmap((void *)0x10000000, 4096, PROT_READ | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	_exit(0);
}

static void test_tells_whether_it_changed(void **state)
{
	struct maps maps = {0};
	int orders[2], answers[2];
	pid_t child = start_child(orders, answers);
	char word = 0;

	(void)state;
	assert_int_equal(read(answers[0], &word, 1), 1);
	assert_int_equal(maps_read(&maps, child), 1);
	assert_int_equal(maps_read(&maps, child), 0);
	assert_int_equal(write(orders[1], &word, 1), 1);
	assert_int_equal(read(answers[0], &word, 1), 1);
	assert_int_equal(maps_read(&maps, child), 1);
	assert_non_null(maps_find(&maps, 0x10000fff));
	assert_null(maps_find(&maps, 0x10001000));
	assert_string_equal(maps_find(&maps, 0x10000000)->path, "");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	for (unsigned i = 0; i < 2; i++) {
		close(orders[i]);
		close(answers[i]);
	}
	maps_release(&maps);
}

static void test_a_process_that_is_gone(void **state)
{
	struct maps maps = {0};

	(void)state;
	assert_int_equal(maps_read(&maps, getpid()), 1);
	assert_true(maps_read(&maps, 4194304) < 0);
	assert_true(maps.count > 0); /* as it was */
	maps_release(&maps);
}

static void test_lines_that_are_wrong(void **state)
{
	char text[] = "1000-2000 r-xp 00000000 08:01 7 /a\\012b\n"
		      "1800-3000 r-xp 00000000 08:01 7 /overlaps\n"
		      "5000-4000 r-xp 00000000 08:01 7 /turned\n"
		      "nothing\n"
		      "3000-4000 rw-p 00000000 00:00 0";
	struct maps maps = {0};

	(void)state;
	assert_int_equal(maps_parse(&maps, text), 1);
	assert_int_equal(maps.count, 2);
	assert_string_equal(maps.list[0].path, "/a\nb");
	assert_ptr_equal(maps_find(&maps, 0x3fff), &maps.list[1]);
	assert_null(maps_find(&maps, 0x2000));
	maps_release(&maps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_what_is_mapped),
		cmocka_unit_test(test_tells_whether_it_changed),
		cmocka_unit_test(test_a_process_that_is_gone),
		cmocka_unit_test(test_lines_that_are_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
