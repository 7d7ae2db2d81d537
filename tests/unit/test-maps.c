/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Read /proc/PID/maps, find mappings by address, and look up sampled addresses that are in no known
 * module.
 */
#include <fcntl.h>
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

/*
 * Start a child that maps another page after each byte that it reads from @orders, and then writes
 * a byte to @answers.
 */
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

/* ---- mappings -------------------------------------------------------------------------------- */

#define MS 1000000ULL

struct given {
	struct mappings mappings;
	struct pipe_writer pipe_writer;
	uint64_t now_ns;
};

static void request_address(struct given *given, const void *address)
{
	const uint64_t frames[] = {
		WIRE_FRAME(3, 0x1000), WIRE_FRAME(WIRE_MODULE_NONE, (uintptr_t)address)};

	mappings_request(&given->mappings, (const char *)frames, 2);
}

/*
 * Update the mappings after @ms more ms. Returns how many modules have been announced since the
 * beginning.
 */
static uint32_t update_after(struct given *given, uint64_t ms)
{
	given->now_ns += ms * MS;
	mappings_update(
		&given->mappings, (uint32_t)getpid(), 7, given->now_ns, &given->pipe_writer);
	return given->mappings.announced;
}

static int begin(void **state)
{
	struct given *given = calloc(1, sizeof(*given));

	given->now_ns = 1000 * MS;
	*state = given;
	return 0;
}

static int end(void **state)
{
	struct given *given = *state;

	pipe_writer_release(&given->pipe_writer);
	free(given);
	return 0;
}

static void code_of_a_file_is_told_once(void **state)
{
	struct given *given = *state;
	const struct record_module *record;
	char path[4096] = "";

	assert_int_equal(update_after(given, 0), 0);
	request_address(given, (void *)(uintptr_t)request_address);
	assert_int_equal(update_after(given, 0), 1);
	record = (const struct record_module *)(given->pipe_writer.bytes + given->pipe_writer.from);
	assert_int_equal(record->record.type, RECORD_MODULE);
	assert_int_equal(record->image, 7);
	assert_int_equal(record->number, WIRE_MODULE_MAX);
	assert_int_equal(record->flags, WIRE_MODULE_MAPPED);
	assert_in_range((uintptr_t)request_address, record->start, record->end - 1);
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	assert_string_equal(record->path, path);
	/* The mapping is known, so another function in it requests no update. */
	request_address(given, (void *)(uintptr_t)begin);
	assert_int_equal(given->mappings.wanted, 0);
	assert_int_equal(update_after(given, 10000), 1);
	/*
	 * A function of another file is looked up at once, because the last update found a module.
	 */
	request_address(given, (void *)(uintptr_t)getpid);
	assert_int_equal(update_after(given, 0), 2);
}

/* When code outside files is sampled, the process's mapped jitdump is reported, once. */
static void a_jitdump_is_told_of(void **state)
{
	struct given *given = *state;
	char path[] = "/tmp/flamerun-test-XXXXXX", dump[64];
	const struct record_module *record;
	void *nothing = malloc(1 << 20), *mark;
	int fd;

	assert_non_null(mkdtemp(path));
	snprintf(dump, sizeof(dump), "%s/jit-%d.dump", path, 1234);
	fd = open(dump, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	mark = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	/* Files in this folder cannot be mapped executable. */
	if (mark == MAP_FAILED)
		skip();
	request_address(given, nothing);
	assert_int_equal(update_after(given, 0), 1);
	record = (const struct record_module *)(given->pipe_writer.bytes + given->pipe_writer.from);
	assert_string_equal(record->path, dump);
	assert_int_equal(record->flags, WIRE_MODULE_MAPPED);
	request_address(given, (void *)(uintptr_t)(64 * 4096));
	assert_int_equal(update_after(given, 10000), 1);
	free(nothing);
	unlink(dump);
	rmdir(path);
	munmap(mark, 4096);
}

static void looks_that_find_nothing_become_rare(void **state)
{
	struct given *given = *state;
	void *nothing = malloc(1 << 20); /* a mapping without file and code */

	request_address(given, nothing);
	assert_int_equal(update_after(given, 0), 0);
	request_address(given, (char *)nothing + 4096);
	assert_int_equal(given->mappings.wanted, 0);
	request_address(given, (void *)(uintptr_t)request_address);
	assert_int_equal(update_after(given, 49), 0);
	assert_int_equal(update_after(given, 1), 1);
	for (uint64_t ms = 50; ms <= 6400; ms *= 2) {
		request_address(
			given, (void *)(uintptr_t)(ms * 8)); /* no mapping there */
		assert_int_equal(update_after(given, 10000), 1);
		request_address(given, (void *)(uintptr_t)(ms * 8));
		assert_int_not_equal(given->mappings.wanted, 0);
		update_after(given, given->mappings.wait_ms - 1);
		assert_int_not_equal(given->mappings.wanted, 0);
		given->mappings.wanted = 0;
	}
	assert_int_equal(given->mappings.wait_ms, 3200);
	free(nothing);
}

static void who_may_not_be_looked_into_has_none(void **state)
{
	struct given *given = *state;

	request_address(given, (void *)(uintptr_t)request_address);
	mappings_update(&given->mappings, INT32_MAX, 7, given->now_ns, &given->pipe_writer);
	assert_int_equal(given->mappings.announced, 0);
	assert_int_equal(given->mappings.wanted, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_what_is_mapped),
		cmocka_unit_test(test_tells_whether_it_changed),
		cmocka_unit_test(test_a_process_that_is_gone),
		cmocka_unit_test(test_lines_that_are_wrong),
		cmocka_unit_test_setup_teardown(code_of_a_file_is_told_once, begin, end),
		cmocka_unit_test_setup_teardown(a_jitdump_is_told_of, begin, end),
		cmocka_unit_test_setup_teardown(looks_that_find_nothing_become_rare, begin, end),
		cmocka_unit_test_setup_teardown(who_may_not_be_looked_into_has_none, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
