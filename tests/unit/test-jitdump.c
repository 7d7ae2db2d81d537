/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Find the function that a jitdump has at an address and a time. Also read damaged dumps and dumps
 * that contradict themselves.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/symbols/jitdump.h"

#define MAGIC 0x4a695444u

static int fd; /* of the dump that is written */

static void put(const void *bytes, size_t count)
{
	assert_int_equal(write(fd, bytes, count), (ssize_t)count);
}

static void begin_dump(uint64_t flags)
{
	const uint32_t numbers[] = {MAGIC, 1, 40, 62, 0, 1234};
	const uint64_t words[] = {7, flags};

	fd = memfd_create("dump", MFD_CLOEXEC);
	assert_true(fd >= 0);
	put(numbers, sizeof(numbers));
	put(words, sizeof(words));
}

static void put_header(uint32_t id, size_t body, uint64_t time_ns)
{
	const uint32_t numbers[] = {id, (uint32_t)(16 + body)};

	put(numbers, sizeof(numbers));
	put(&time_ns, sizeof(time_ns));
}

static void put_load(
	uint64_t time_ns, uint64_t start, uint64_t bytes, uint64_t index, const char *name)
{
	const uint64_t body[] = {1234, start, start, bytes, index};
	const char code[5] = "code";

	put_header(0, sizeof(body) + strlen(name) + 1 + sizeof(code), time_ns);
	put(body, sizeof(body));
	put(name, strlen(name) + 1);
	put(code, sizeof(code));
}

static void put_move(uint64_t time_ns, uint64_t from, uint64_t to, uint64_t bytes, uint64_t index)
{
	const uint64_t body[] = {1234, to, from, to, bytes, index};

	put_header(1, sizeof(body), time_ns);
	put(body, sizeof(body));
}

static struct jitdump *end_dump(void)
{
	struct jitdump *dump = NULL;

	assert_int_equal(jitdump_read(&dump, fd), 0);
	close(fd);
	return dump;
}

static void expect(const struct jitdump *dump, uint64_t address, uint64_t time_ns, bool is_shared,
	const char *name)
{
	bool shared;
	const char *found = jitdump_lookup(dump, address, time_ns, &shared);

	assert_int_equal(shared, is_shared);
	if (name)
		assert_non_null(found);
	else
		assert_null(found);
	if (name)
		assert_string_equal(found, name);
}

static void test_loads(void **state)
{
	struct jitdump *dump;

	(void)state;
	begin_dump(0);
	put_load(10, 0x2000, 0x100, 2, "JS:*fib /x.js:1:13");
	put_load(20, 0x1000, 0x100, 1, "int f(int)");
	put_load(30, 0x3000, 0, 3, "empty");
	put_load(30, UINT64_MAX - 4, 4, 4, "last");
	put_load(30, UINT64_MAX - 14, 20, 4, "wraps");
	put_load(30, 0x4000, 16, 5, "");
	put_load(30, 0x5000, 16, 6, "JS:~ /y.js:2:1");
	put_header(77, 100, 40);
	dump = end_dump();
	expect(dump, 0x1000, JITDUMP_LAST, false, "int f(int)");
	expect(dump, 0x10ff, JITDUMP_LAST, false, "int f(int)");
	expect(dump, 0x1100, JITDUMP_LAST, false, NULL);
	expect(dump, 0xfff, JITDUMP_LAST, false, NULL);
	expect(dump, 0x2050, JITDUMP_LAST, false, "fib /x.js:1:13");
	expect(dump, 0x3000, JITDUMP_LAST, false, NULL);
	expect(dump, UINT64_MAX - 3, JITDUMP_LAST, false, "last");
	expect(dump, UINT64_MAX - 10, JITDUMP_LAST, false, NULL);
	expect(dump, 0x4000, JITDUMP_LAST, false, NULL);
	expect(dump, 0x5000, JITDUMP_LAST, false, "(anonymous) /y.js:2:1");
	expect(dump, 0x1000, 19, false, NULL);
	jitdump_free(dump);
}

/*
 * A function is replaced by another at the same address. A function moves to the address of a third
 * one.
 */
static void test_times(void **state)
{
	struct jitdump *dump;

	(void)state;
	begin_dump(0);
	put_load(100, 0x1000, 0x100, 1, "first");
	put_load(200, 0x1080, 0x100, 2, "second");
	put_move(300, 0x1080, 0x9000, 0x100, 2);
	put_move(400, 0x9000, 0x1000, 0x100, 2);
	put_move(450, 0x7777, 0x1000, 0x100, 2); /* no function there */
	put_move(450, 0x1000, 0x7000, 0x100, 99); /* unknown index */
	dump = end_dump();
	expect(dump, 0x1000, 99, true, NULL);
	expect(dump, 0x1000, 100, true, "first");
	expect(dump, 0x1000, 399, true, "first");
	expect(dump, 0x1000, 400, true, "second");
	expect(dump, 0x1000, JITDUMP_LAST, true, "second");
	expect(dump, 0x1090, 199, true, "first");
	expect(dump, 0x1090, 299, true, "second");
	expect(dump, 0x1090, 300, true, NULL); /* moved away */
	expect(dump, 0x9000, 299, true, NULL);
	expect(dump, 0x9000, 300, true, "second");
	expect(dump, 0x9000, 400, true, NULL);
	expect(dump, 0x7000, JITDUMP_LAST, false, NULL);
	jitdump_free(dump);

	/*
	 * The samples' clock is not the dump's clock, so the last function recorded at an address
	 * is returned.
	 */
	begin_dump(1);
	put_load(9, 0x1000, 0x100, 1, "first");
	put_load(5, 0x1000, 0x100, 2, "second");
	dump = end_dump();
	expect(dump, 0x1000, 1, false, "first");
	jitdump_free(dump);
}

/* Read as many functions as a compiler makes in hours, all at the same addresses. */
static void test_many(void **state)
{
	char name[32];
	struct jitdump *dump;
	const uint64_t count = 50000;

	(void)state;
	begin_dump(0);
	put_load(1, 0, 1ULL << 40, UINT64_MAX, "all");
	for (uint64_t i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "f%d", (int)i);
		put_load(10 + i, 0x1000 + i % 500 * 16, 16, i, name);
	}
	dump = end_dump();
	for (uint64_t i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "f%d", (int)i);
		expect(dump, 0x1000 + i % 500 * 16 + 15, 10 + i, true, name);
		expect(dump, 0x1000 + i % 500 * 16, 10 + i + 499, true, name);
	}
	expect(dump, 1ULL << 39, 5, false, "all");
	jitdump_free(dump);

	/*
	 * If more functions were at one address than are searched, return no name, because a wrong
	 * name would be worse.
	 */
	begin_dump(0);
	for (uint64_t i = 0; i < 20000; i++)
		put_load(i, 0x1000, 16, i, "f");
	dump = end_dump();
	expect(dump, 0x1000, JITDUMP_LAST, true, NULL);
	jitdump_free(dump);
}

static void test_damage(void **state)
{
	const uint32_t none[] = {MAGIC + 1, 1, 40, 62, 0, 1234, 0, 0, 0, 0};
	struct jitdump *dump = NULL;
	off_t size;

	(void)state;
	begin_dump(0);
	put_load(10, 0x1000, 16, 1, "whole");
	put_load(10, 0x2000, 16, 2, "torn");
	size = lseek(fd, 0, SEEK_END);
	assert_int_equal(ftruncate(fd, size - 5 - 2), 0);
	dump = end_dump();
	expect(dump, 0x1000, JITDUMP_LAST, false, "whole");
	jitdump_free(dump);

	/* Reading ends at a record whose size is smaller than its header. */
	begin_dump(0);
	put_load(10, 0x1000, 16, 1, "whole");
	put("\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0", 16);
	put_load(10, 0x2000, 16, 2, "behind");
	dump = end_dump();
	expect(dump, 0x1000, JITDUMP_LAST, false, "whole");
	expect(dump, 0x2000, JITDUMP_LAST, false, NULL);
	jitdump_free(dump);

	begin_dump(0);
	dump = end_dump();
	expect(dump, 0x1000, JITDUMP_LAST, false, NULL);
	jitdump_free(dump);

	fd = memfd_create("none", MFD_CLOEXEC);
	put(none, sizeof(none));
	assert_int_equal(jitdump_read(&dump, fd), -EBADMSG);
	assert_int_equal(ftruncate(fd, 39), 0);
	assert_int_equal(jitdump_read(&dump, fd), -EBADMSG);
	close(fd);
	assert_int_equal(jitdump_read(&dump, -1), -EBADF);
}

static void test_names_of_files(void **state)
{
	(void)state;
	assert_true(jitdump_is_named("jit-1.dump"));
	assert_true(jitdump_is_named("/srv/.debug/jit/llvm-IR-jit-20260101-a/jit-4711.dump"));
	assert_false(jitdump_is_named("/tmp/jit-.dump"));
	assert_false(jitdump_is_named("/tmp/jit-12.dump.bak"));
	assert_false(jitdump_is_named("/tmp/ajit-12.dump"));
	assert_false(jitdump_is_named("/tmp/jit-1x.dump"));
	assert_false(jitdump_is_named(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loads),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_names_of_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
