/* SPDX-License-Identifier: MIT */
/*
 * Make files that have this process's pid in their name, despite obstacles, files of earlier
 * processes, and write errors.
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
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprof/trampoline/publish_file.h"

static char folder[] = "/tmp/test-publish_file-XXXXXX";
static char path[128], other[128];
static struct publish_file file;

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/file", folder);
	snprintf(other, sizeof(other), "%s/other", folder);
	return 0;
}

static int cleanup(void **state)
{
	(void)state;
	unlink(path);
	unlink(other);
	return rmdir(folder);
}

static void write_file(const char *name, const char *text, time_t age_s)
{
	struct timespec times[2];
	FILE *stream = fopen(name, "w");

	assert_non_null(stream);
	fputs(text, stream);
	fclose(stream);
	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= age_s;
	times[1] = times[0];
	assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
}

static void assert_text(const char *name, const char *expected)
{
	char text[256] = "";
	FILE *stream = fopen(name, "r");

	assert_non_null(stream);
	assert_true(fread(text, 1, sizeof(text) - 1, stream) < sizeof(text));
	fclose(stream);
	assert_string_equal(text, expected);
}

static void append(enum publish_file_sharing sharing)
{
	assert_int_equal(publish_file_open(&file, path, sharing), 0);
	publish_file_put(&file, "mine\n", 5);
	publish_file_close(&file);
	assert_false(file.is_open);
}

static void test_new(void **state)
{
	struct stat status;
	mode_t mask = umask(0);

	(void)state;
	unlink(path);
	append(PUBLISH_FILE_SHARED);
	umask(mask);
	assert_text(path, "mine\n");
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
}

static void test_written_by_this_process(void **state)
{
	(void)state;
	write_file(path, "another compiler's\n", 0);
	append(PUBLISH_FILE_SHARED);
	assert_text(path, "another compiler's\nmine\n");
	assert_int_equal(publish_file_open(&file, path, PUBLISH_FILE_OWN), -EEXIST);
	assert_text(path, "another compiler's\nmine\n");
}

static void test_left_by_the_past(void **state)
{
	(void)state;
	write_file(path, "of another process with this pid\n", 86400);
	append(PUBLISH_FILE_SHARED);
	assert_text(path, "mine\n");
	write_file(path, "of another process with this pid\n", 86400);
	append(PUBLISH_FILE_OWN);
	assert_text(path, "mine\n");
}

static void assert_refused(void)
{
	assert_int_equal(publish_file_open(&file, path, PUBLISH_FILE_SHARED), -EEXIST);
	assert_false(file.is_open);
	unlink(path);
}

static void test_in_the_way(void **state)
{
	(void)state;
	write_file(other, "precious\n", 86400);
	unlink(path);
	assert_int_equal(symlink(other, path), 0);
	assert_refused();
	assert_int_equal(link(other, path), 0);
	assert_refused();
	assert_text(other, "precious\n");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_refused();
	if (!geteuid()) {
		write_file(path, "another user's\n", 0);
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_refused();
	}
}

static void test_cannot_be_written(void **state)
{
	struct rlimit before, limit;
	static char bytes[40000];

	(void)state;
	unlink(path);
	assert_int_equal(publish_file_open(&file, path, PUBLISH_FILE_SHARED), 0);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = 20000;
	/* SIGXFSZ would end the test. */
	setrlimit(RLIMIT_FSIZE, &limit);
	publish_file_put(&file, bytes, sizeof(bytes));
	assert_int_equal(publish_file_flush(&file), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &before);
	/*
	 * After a write error every later write must fail too, because a file with a gap would be
	 * wrong.
	 */
	publish_file_put(&file, bytes, 1);
	assert_int_equal(publish_file_flush(&file), -EFBIG);
	publish_file_close(&file);
}

static void test_memory_that_cannot_be_read(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory =
		mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *read_back = calloc(1, 3 * page);
	FILE *stream;

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_non_null(read_back);
	memset(memory, 'm', 3 * page);
	assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
	unlink(path);
	assert_int_equal(publish_file_open(&file, path, PUBLISH_FILE_OWN), 0);
	publish_file_put(&file, "[", 1);
	publish_file_put_memory(&file, (uintptr_t)memory + page - 5, page + 10);
	publish_file_put(&file, "]", 1);
	publish_file_close(&file);
	stream = fopen(path, "r");
	assert_non_null(stream);
	assert_int_equal(fread(read_back, 1, 3 * page, stream), page + 12);
	fclose(stream);
	assert_memory_equal(read_back, "[mmmmm", 6);
	for (size_t i = 0; i < page; i++)
		assert_int_equal(read_back[6 + i], 0);
	assert_memory_equal(read_back + 6 + page, "mmmmm]", 6);
	free(read_back);
	munmap(memory, 3 * page);
}

static void test_dropped(void **state)
{
	(void)state;
	unlink(path);
	assert_int_equal(publish_file_open(&file, path, PUBLISH_FILE_OWN), 0);
	publish_file_put(&file, "the parent writes this", 22);
	publish_file_drop(&file);
	assert_text(path, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new),
		cmocka_unit_test(test_written_by_this_process),
		cmocka_unit_test(test_left_by_the_past),
		cmocka_unit_test(test_in_the_way),
		cmocka_unit_test(test_cannot_be_written),
		cmocka_unit_test(test_memory_that_cannot_be_read),
		cmocka_unit_test(test_dropped),
	};

	return cmocka_run_group_tests_name("publish_file", tests, setup, cleanup);
}
