/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* Find the library in a folder near the program, also at paths that LD_PRELOAD cannot contain. */
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
#include <unistd.h>
#include <cmocka.h>

#include "cli/run/library.h"

#define NAME "libflameprof.so.1"

static char folder[64];
static char file[256];
static struct library library;
static struct diag_message message;

static int enter(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/test-library.XXXXXX");
	memset(&message, 0, sizeof(message));
	unsetenv("XDG_RUNTIME_DIR");
	return !mkdtemp(folder) || chdir(folder);
}

static int leave(void **state)
{
	char command[128];

	(void)state;
	library_abandon();
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return chdir("/") || system(command);
}

/* Make "<folder>/<below>/libflameprof.so.1" and store its path in `file`. */
static void install(const char *below)
{
	int descriptor;

	mkdir(below, 0755);
	snprintf(file, sizeof(file), "%s/%s/" NAME, folder, below);
	descriptor = open(file, O_WRONLY | O_CREAT, 0644);
	assert_true(descriptor >= 0);
	close(descriptor);
}

static void find(const char *below)
{
	char program[256];

	snprintf(program, sizeof(program), "%s/%s", folder, below);
	mkdir(program, 0755);
	assert_int_equal(library_find(&library, program, &message), 0);
}

static void beside_the_program(void **state)
{
	(void)state;
	install("lib");
	install("bin");
	find("bin");
	assert_string_equal(library.path, file);
}

static void beside_its_folder(void **state)
{
	(void)state;
	install("lib");
	find("bin");
	assert_string_equal(library.path, file);
}

static void nowhere(void **state)
{
	(void)state;
	if (!access(FLAMERUN_LIBDIR "/" NAME, F_OK))
		skip();
	mkdir(NAME, 0755); /* a folder is no library */
	assert_int_equal(library_find(&library, folder, &message), -ENOENT);
	assert_string_equal(message.text, "cannot find " NAME);
	assert_non_null(strstr(message.hint, folder));
}

static void through_a_link(const char *below)
{
	char target[256] = "", place[PATH_MAX];
	struct stat status;

	install(below);
	find(below);
	assert_null(strpbrk(library.path, " :$"));
	assert_true(readlink(library.path, target, sizeof(target) - 1) > 0);
	assert_string_equal(target, file);
	strcpy(place, library.path);
	*strrchr(place, '/') = '\0';
	assert_int_equal(stat(place, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0711);
	library_abandon();
	assert_int_equal(access(place, F_OK), -1);
	assert_int_equal(access(file, F_OK), 0);
	library_abandon();
}

static void what_ld_so_would_split(void **state)
{
	(void)state;
	through_a_link("with blank");
	through_a_link("with:colon");
	through_a_link("with$LIB");
}

static void the_private_folder_is_sought_elsewhere(void **state)
{
	char runtime[128];

	(void)state;
	install("with blank");
	snprintf(runtime, sizeof(runtime), "%s/run", folder);
	mkdir(runtime, 0700);
	setenv("XDG_RUNTIME_DIR", runtime, 1);
	find("with blank");
	assert_int_equal(strncmp(library.path, runtime, strlen(runtime)), 0);
	library_abandon();
	setenv("XDG_RUNTIME_DIR", "/none", 1);
	find("with blank");
	assert_int_equal(strncmp(library.path, "/tmp/", 5), 0);
	library_abandon();
	setenv("XDG_RUNTIME_DIR", file, 1); /* has a blank itself */
	find("with blank");
	assert_int_equal(strncmp(library.path, "/tmp/", 5), 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(beside_the_program),
		IN_FOLDER(beside_its_folder),
		IN_FOLDER(nowhere),
		IN_FOLDER(what_ld_so_would_split),
		IN_FOLDER(the_private_folder_is_sought_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
