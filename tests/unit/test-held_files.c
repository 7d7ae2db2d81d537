/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Test which files of sampled programs are held open, until when, and which can be found again
 * after their name is gone.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/symbols/elf_file.h"
#include "cli/symbols/held_files.h"
#include "tests/unit/own-folder.h"

#define IMAGE 7

static struct held_files *held;

static int enter(void **state)
{
	/* /tmp is on the mount of this program, and only files on such mounts are held. */
	unsetenv("TMPDIR");
	held = held_files_new();
	assert_non_null(held);
	return own_folder_enter(state);
}

static int leave(void **state)
{
	held_files_free(held);
	return own_folder_leave(state);
}

/* Copy this program to @name in the folder. */
static void make(const char *name)
{
	char command[200];

	snprintf(command, sizeof(command), "cp /proc/%d/exe %s", (int)getpid(), name);
	assert_int_equal(system(command), 0);
}

static struct symbols_module module_at(char path[200], const char *name)
{
	char folder[100];

	assert_non_null(getcwd(folder, sizeof(folder)));
	snprintf(path, 200, "%s/%s", folder, name);
	return (struct symbols_module){.path = path};
}

static bool is_file(int fd, const char *name)
{
	struct stat one, other;

	return fd > STDERR_FILENO && !fstat(fd, &one) && !stat(name, &other) &&
	       one.st_ino == other.st_ino && one.st_dev == other.st_dev;
}

static void a_file_outlives_its_name(void **state)
{
	char path[200];
	struct symbols_module module = module_at(path, "a");

	(void)state;
	make("a");
	held_files_add(held, IMAGE, &module);
	held_files_add(held, IMAGE, &module);
	assert_int_equal(rename("a", "b"), 0);
	assert_true(is_file(held_files_find(held, IMAGE, &module), "b"));
	/* The module has no build-id, so only the process image (one exec) identifies the file. */
	assert_int_equal(held_files_find(held, IMAGE + 1, &module), 0);
	assert_int_equal(unlink("b"), 0);
	assert_int_not_equal(held_files_find(held, IMAGE, &module), 0);
	assert_int_equal(held_files_find(NULL, IMAGE, &module), 0);
}

static void what_was_written_over_is_another(void **state)
{
	char path[200];
	struct symbols_module module = module_at(path, "a");

	(void)state;
	make("a");
	held_files_add(held, IMAGE, &module);
	assert_int_equal(truncate("a", 100), 0);
	assert_int_equal(held_files_find(held, IMAGE, &module), 0);
}

static void a_build_id_identifies_it_in_every_image(void **state)
{
	char path[200];
	struct symbols_module module = module_at(path, "a");
	uint8_t other[4] = {1, 2, 3, 4};
	struct elf_file file;

	(void)state;
	make("a");
	assert_int_equal(elf_file_open(&file, path, 0), 0);
	module.build_id_bytes = elf_file_build_id(&file, &module.build_id);
	if (!module.build_id_bytes)
		skip();
	held_files_add(held, IMAGE, &module);
	assert_true(is_file(held_files_find(held, IMAGE + 1, &module), "a"));
	elf_file_close(&file);
	/* Another file is at this path now. */
	module.build_id = other;
	module.build_id_bytes = sizeof(other);
	held_files_add(held, IMAGE, &module);
	assert_int_equal(held_files_find(held, IMAGE, &module), 0);
}

/* The number of descriptors is limited, but a file that lost its name early must still be open. */
static void descriptors_are_bounded(void **state)
{
	struct rlimit before, limit;
	char path[200], gone[200], name[20];
	struct symbols_module module = module_at(gone, "gone");
	int first = open("/", O_PATH | O_CLOEXEC), last;

	(void)state;
	close(first);
	getrlimit(RLIMIT_NOFILE, &before);
	limit = (struct rlimit){64, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	held_files_free(held);
	held = held_files_new();
	setrlimit(RLIMIT_NOFILE, &before);
	make("gone");
	held_files_add(held, IMAGE, &module);
	assert_int_equal(unlink("gone"), 0);
	for (int i = 0; i < 100; i++) {
		struct symbols_module each;

		snprintf(name, sizeof(name), "%d", i);
		each = module_at(path, name);
		if (i)
			assert_int_equal(link("0", name), 0);
		else
			make(name);
		held_files_add(held, IMAGE, &each);
	}
	last = open("/", O_PATH | O_CLOEXEC);
	close(last);
	assert_in_range(last - first, 1, 16);
	assert_int_not_equal(held_files_find(held, IMAGE, &module), 0);
}

static void a_perf_map_outlives_its_name(void **state)
{
	uint32_t pid = (uint32_t)getpid();
	struct stat status;
	char path[100];
	FILE *map;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	unlink(path);
	/* The perf map may be written after its code has run. */
	held_files_open(held, IMAGE, pid);
	assert_int_equal(held_files_find_map(held, IMAGE, false, 0), 0);
	map = fopen(path, "we");
	assert_non_null(map);
	fputs("1000 10 first\n", map);
	fflush(map);
	usleep(120000);
	held_files_open(held, IMAGE, pid);
	assert_true(is_file(held_files_find_map(held, IMAGE, false, 0), path));
	fputs("2000 10 second\n", map);
	fclose(map);
	unlink(path);
	assert_int_equal(fstat(held_files_find_map(held, IMAGE, false, 0), &status), 0);
	assert_int_equal(status.st_size, strlen("1000 10 first\n2000 10 second\n"));
	assert_int_equal(held_files_find_map(held, IMAGE, false, status.st_mtim.tv_sec + 1), 0);
	assert_int_equal(held_files_find_map(held, IMAGE + 1, false, 0), 0);
	assert_int_equal(held_files_find_map(held, IMAGE, true, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_outlives_its_name, enter, leave),
		cmocka_unit_test_setup_teardown(what_was_written_over_is_another, enter, leave),
		cmocka_unit_test_setup_teardown(
			a_build_id_identifies_it_in_every_image, enter, leave),
		cmocka_unit_test_setup_teardown(descriptors_are_bounded, enter, leave),
		cmocka_unit_test_setup_teardown(a_perf_map_outlives_its_name, enter, leave),
	};

	if (getenv("TEST_EMULATED")) /* /proc/PID/exe is the emulator's */
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
