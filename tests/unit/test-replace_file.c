/* SPDX-License-Identifier: MIT */
/*
 * replace_file() leaves a file with either its old or its new content, and leaves no other file
 * beside it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libprof/aggregator/replace_file.h"
#include "tests/unit/own-folder.h"

/*
 * The path of the root folder, relative to the test's folder in /tmp. Under qemu-user absolute
 * paths have another root.
 */
#define FROM_ROOT "../.."

static unsigned entries(void)
{
	DIR *folder = opendir(".");
	unsigned n = 0;

	for (struct dirent *entry; (entry = readdir(folder));)
		n += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(folder);
	return n;
}

static void assert_content(const char *path, const char *expected)
{
	char text[100] = "";
	FILE *in = fopen(path, "r");

	assert_non_null(in);
	assert_int_equal(fread(text, 1, sizeof(text) - 1, in), strlen(expected));
	assert_string_equal(text, expected);
	fclose(in);
}

static int say_new(void *context, int fd)
{
	(void)context;
	return write(fd, "new", 3) == 3 ? 0 : -errno;
}

static int write_half(void *context, int fd)
{
	(void)!write(fd, "half", 4);
	return *(int *)context;
}

static void make(const char *path, mode_t mode)
{
	FILE *out = fopen(path, "w");

	fputs("old", out);
	fclose(out);
	chmod(path, mode);
}

static void a_file_is_made_or_replaced(void **state)
{
	struct stat status;

	(void)state;
	umask(027);
	assert_int_equal(replace_file("a", say_new, NULL), 0);
	assert_content("a", "new");
	assert_int_equal(stat("a", &status), 0);
	assert_int_equal(status.st_mode & 0777, 0640);
	make("b", 0604);
	assert_int_equal(replace_file("b", say_new, NULL), 0);
	assert_content("b", "new");
	assert_int_equal(stat("b", &status), 0);
	assert_int_equal(status.st_mode & 0777, 0604);
	assert_int_equal(entries(), 2);
}

static void a_failure_leaves_what_was_there(void **state)
{
	int error = -ENOSPC;

	(void)state;
	make("a", 0600);
	assert_int_equal(replace_file("a", write_half, &error), -ENOSPC);
	assert_content("a", "old");
	assert_int_equal(replace_file("b", write_half, &error), -ENOSPC);
	assert_int_equal(entries(), 1);
	assert_int_equal(replace_file("no/such", say_new, NULL), -ENOENT);
	assert_int_equal(replace_file("", say_new, NULL), -ENOENT);
	assert_int_equal(replace_file(".", say_new, NULL), -EISDIR);
	assert_int_equal(entries(), 1);
}

static void links_are_followed(void **state)
{
	struct stat status;

	(void)state;
	assert_int_equal(mkdir("below", 0700), 0);
	make("below/a", 0600);
	assert_int_equal(symlink("below/a", "link"), 0);
	assert_int_equal(replace_file("link", say_new, NULL), 0);
	assert_content("below/a", "new");
	assert_int_equal(lstat("link", &status), 0);
	assert_true(S_ISLNK(status.st_mode));
}

static void links_that_others_laid_are_not(void **state)
{
	(void)state;
	if (geteuid())
		/* only root can give a link to another user */
		skip();
	assert_int_equal(mkdir("shared", 0777), 0);
	assert_int_equal(chmod("shared", 01777), 0);
	make("a", 0600);
	assert_int_equal(symlink("../a", "shared/link"), 0);
	assert_int_equal(lchown("shared/link", 65534, 65534), 0);
	assert_int_equal(replace_file("shared/link", say_new, NULL), -EACCES);
	assert_content("a", "old");
	assert_int_equal(symlink("..", "shared/folder"), 0);
	assert_int_equal(lchown("shared/folder", 65534, 65534), 0);
	assert_int_equal(replace_file("shared/folder/a", say_new, NULL), -EACCES);
	assert_content("a", "old");
	assert_int_equal(entries(), 2);
}

static void longest_names_are_fine(void **state)
{
	char name[256];

	(void)state;
	memset(name, 'x', 255);
	name[255] = '\0';
	assert_int_equal(replace_file(name, say_new, NULL), 0);
	assert_content(name, "new");
	assert_int_equal(entries(), 1);
}

static int write_much(void *context, int fd)
{
	static char bytes[8192];

	(void)context;
	for (;;)
		if (write(fd, bytes, sizeof(bytes)) < 0)
			return -errno;
}

static int write_to_nobody(void *context, int fd)
{
	close(*(int *)context);
	return write_much(NULL, fd);
}

static void limits_of_the_host_are_errors_not_signals(void **state)
{
	struct rlimit limit, before;
	sigset_t mask, pending;
	int ends[2];
	char path[64];

	(void)state;
	getrlimit(RLIMIT_FSIZE, &before);
	limit = (struct rlimit){4096, before.rlim_max};
	setrlimit(RLIMIT_FSIZE, &limit);
	assert_int_equal(replace_file("a", write_much, NULL), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(entries(), 0);
	assert_int_equal(pipe(ends), 0);
	snprintf(path, sizeof(path), FROM_ROOT "/proc/self/fd/%d", ends[1]);
	assert_int_equal(replace_file(path, write_to_nobody, &ends[0]), -EPIPE);
	close(ends[1]);
	/* Refuse a FIFO without a reader, because opening it would wait for a reader. */
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(replace_file("fifo", write_much, NULL), -ENXIO);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	sigpending(&pending);
	assert_int_equal(sigismember(&mask, SIGXFSZ) | sigismember(&mask, SIGPIPE), 0);
	assert_int_equal(sigismember(&pending, SIGXFSZ) | sigismember(&pending, SIGPIPE), 0);
}

static void a_full_disk_leaves_nothing(void **state)
{
	(void)state;
	assert_int_equal(replace_file(FROM_ROOT "/dev/full", write_much, NULL), -ENOSPC);
	assert_int_equal(replace_file(FROM_ROOT "/dev/null", say_new, NULL), 0);
	assert_int_equal(access("/dev/null", W_OK), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, own_folder_enter, own_folder_leave)
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_made_or_replaced),
		TEST(a_failure_leaves_what_was_there),
		TEST(links_are_followed),
		TEST(links_that_others_laid_are_not),
		TEST(longest_names_are_fine),
		TEST(limits_of_the_host_are_errors_not_signals),
		TEST(a_full_disk_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
