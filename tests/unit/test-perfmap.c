/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Parse perf maps: overlapping entries, compared with a simple search, and maps that must not be
 * trusted.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/symbols/perfmap.h"

static struct perfmap *parse(const char *text)
{
	struct perfmap *map = NULL;
	size_t bytes = strlen(text);
	char *copy = malloc(bytes + 1);

	memcpy(copy, text, bytes);
	assert_int_equal(perfmap_parse(&map, copy, bytes), 0);
	return map;
}

static void expect(const struct perfmap *map, uint64_t address, const char *name)
{
	const char *found = perfmap_lookup(map, address);

	if (!name)
		assert_null(found);
	else
		assert_non_null(found);
	if (name)
		assert_string_equal(found, name);
}

static void test_lines(void **state)
{
	struct perfmap *map = parse("1000 10 plain\n"
				    "0x2000 0x20 int J.fib(int)\n"
				    "ABCDEF0 f upper case\n"
				    "3000 10 with\ttab and  spaces \n"
				    "4000 10 windows\r\n"
				    "5000 0 empty\n"
				    "6000 10\n"
				    "6000 10 \n"
				    "xyz 10 no number\n"
				    "0x 10 no digits\n"
				    "\n"
				    "10000000000000000 10 too many digits\n"
				    "fffffffffffffff0 20 wraps\n"
				    "fffffffffffffff0 f last\n"
				    "7000 10 torn");

	(void)state;
	expect(map, 0xfff, NULL);
	expect(map, 0x1000, "plain");
	expect(map, 0x100f, "plain");
	expect(map, 0x1010, NULL);
	expect(map, 0x201f, "int J.fib(int)");
	expect(map, 0xabcdef0, "upper case");
	expect(map, 0x3000, "with\ttab and  spaces ");
	expect(map, 0x4000, "windows");
	expect(map, 0x5000, NULL);
	expect(map, 0x6000, NULL);
	expect(map, 0, NULL);
	expect(map, 0x10, NULL);
	expect(map, 0xfffffffffffffff0, "last");
	expect(map, UINT64_MAX, NULL);
	expect(map, 0x7000, NULL);
	perfmap_free(map);
	perfmap_free(NULL);
}

static void test_tiers_merge(void **state)
{
	struct perfmap *map = parse("1cbbe8e0ac76 5 JS:~fib /x.js:1:13\n"
				    "1cbbe8e0bc76 5 JS:^fib /x.js:1:13\n"
				    "1cbbe8e0cc76 5 JS:*fib /x.js:1:13\n"
				    "1cbbe8e0dc76 5 LazyCompile:+fib /x.js:1:13\n"
				    "1cbbe8e0ec76 5 JS:* /x.js:4:1\n"
				    "1cbbe8e0fc76 5 Eval:~ /x.js:1:1\n"
				    "1cbbe8e1ac76 5 Builtin:ArrayMap\n"
				    "1cbbe8e2ac76 5 JS:fib\n"
				    "1cbbe8e3ac76 5 JS:~\n"
				    "1 1 JS:~ x\n");

	(void)state;
	expect(map, 0x1cbbe8e0ac76, "fib /x.js:1:13");
	expect(map, 0x1cbbe8e0bc76, "fib /x.js:1:13");
	expect(map, 0x1cbbe8e0cc76, "fib /x.js:1:13");
	expect(map, 0x1cbbe8e0dc76, "fib /x.js:1:13");
	expect(map, 0x1cbbe8e0ec76, "(anonymous) /x.js:4:1");
	expect(map, 0x1cbbe8e0fc76, "(script) /x.js:1:1");
	expect(map, 0x1cbbe8e1ac76, "Builtin:ArrayMap");
	expect(map, 0x1cbbe8e2ac76, "JS:fib");
	expect(map, 0x1cbbe8e3ac76, "JS:~");
	expect(map, 1, "JS:~ x"); /* no room for a label before it */
	perfmap_free(map);
}

static void test_random_overlaps_against_oracle(void **state)
{
	unsigned long answered = 0;

	(void)state;
	srand(1);
	for (int round = 0; round < 1000; round++) {
		char text[4096];
		int owner[256], at = 0, count = rand() % 60;

		memset(owner, -1, sizeof(owner));
		text[0] = '\0';
		for (int i = 0; i < count; i++) {
			int start = rand() % 200, size = 1 + rand() % 50;

			at += sprintf(text + at, "%x %x f%d\n", start, size, i);
			for (int a = start; a < start + size; a++)
				owner[a] = i;
		}

		struct perfmap *map = parse(text);

		for (int a = 0; a < 256; a++) {
			char name[16];

			sprintf(name, "f%d", owner[a]);
			expect(map, (uint64_t)a, owner[a] < 0 ? NULL : name);
			answered += owner[a] >= 0;
		}
		perfmap_free(map);
	}
	assert_true(answered > 50000);
}

/* Return a pid that no process can have, so that the test overwrites no process's map. */
static uint32_t free_number(char path[64])
{
	uint32_t pid = 4194304u + 1000000u + (uint32_t)getpid();

	snprintf(path, 64, "/tmp/perf-%u.map", pid);
	unlink(path);
	return pid;
}

static void write_map(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	static const char text[] = "1000 10 jitted\n";

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
}

static void test_files(void **state)
{
	char path[64], other[80];
	uint32_t pid = free_number(path);
	struct perfmap *map = NULL;
	time_t now = time(NULL);

	(void)state;
	assert_int_equal(perfmap_open(&map, pid, 0), -ENOENT);
	write_map(path);
	assert_int_equal(perfmap_open(&map, pid, now + 100), -EPERM);
	assert_null(map);
	assert_int_equal(perfmap_open(&map, pid, now - 100), 0);
	expect(map, 0x1000, "jitted");
	perfmap_free(map);

	snprintf(other, sizeof(other), "%s.other", path);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(perfmap_open(&map, pid, 0), -EPERM);
	unlink(path);

	alarm(10);
	assert_int_equal(mkfifo(path, 0644), 0);
	assert_int_equal(perfmap_open(&map, pid, 0), -EPERM);
	alarm(0);
	unlink(path);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(perfmap_open(&map, pid, 0), -EPERM);
	rmdir(path);

	if (geteuid() == 0) {
		assert_int_equal(rename(other, path), 0);
		assert_int_equal(chown(path, 12345, 12345), 0);
		assert_int_equal(perfmap_open(&map, pid, 0), -EPERM);
		unlink(path);
	}
	unlink(other);
}

static void test_through_a_living_process(void **state)
{
	char path[64];
	struct perfmap *map = NULL;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);
	write_map(path);
	assert_int_equal(perfmap_open(&map, (uint32_t)getpid(), 0), 0);
	expect(map, 0x100f, "jitted");
	perfmap_free(map);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_tiers_merge),
		cmocka_unit_test(test_random_overlaps_against_oracle),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_through_a_living_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
