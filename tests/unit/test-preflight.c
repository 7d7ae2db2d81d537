/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * preflight() checks commands in a folder of programs and scripts made for the test. run_execvp()
 * then runs each command, so that preflight()'s answer is compared with the kernel's and
 * execvp()'s.
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
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/run/preflight.h"

static char folder[64];
static int directory = -1;
static struct diag_message message;
static struct preflight found;

/* Return whether qemu-user runs this test: the library then cannot be loaded into /bin/sh. */
static bool emulated(void)
{
	const struct preflight_request request = {.program = "/bin/sh", .directory = AT_FDCWD};

	return preflight(&found, &request, &message) && strstr(message.text, "is made for");
}

static int enter(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/test-preflight.XXXXXX");
	memset(&message, 0, sizeof(message));
	if (!mkdtemp(folder))
		return -1;
	directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return directory < 0;
}

static int leave(void **state)
{
	char command[128];

	(void)state;
	close(directory);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

static void put(const char *name, const char *text, mode_t mode)
{
	int descriptor = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(descriptor >= 0);
	assert_int_equal(write(descriptor, text, strlen(text)), strlen(text));
	fchmod(descriptor, mode);
	close(descriptor);
}

/*
 * Run @program in the folder, with @path as PATH. Returns execvp()'s errno, or 0 if the program
 * started.
 */
static int run_execvp(const char *program, const char *path)
{
	int report[2], error = 0;
	pid_t pid;

	assert_int_equal(pipe2(report, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		for (int i = 0; i < 3; i++)
			dup2(null, i);
		if (path ? setenv("PATH", path, 1) : unsetenv("PATH"))
			_exit(1);
		if (!fchdir(directory))
			execvp(program, (char *[]){(char *)program, NULL});
		error = errno;
		_exit(write(report[1], &error, sizeof(error)) < 0);
	}
	close(report[1]);
	if (read(report[0], &error, sizeof(error)) != (ssize_t)sizeof(error))
		error = 0;
	close(report[0]);
	waitpid(pid, NULL, 0);
	return error;
}

static int run_preflight(const char *program, const char *path)
{
	const struct preflight_request request = {
		.program = program, .path = path, .directory = directory};

	return preflight(&found, &request, &message);
}

/*
 * Check that execvp() starts @program, and that preflight() finds @file and whether a shell runs
 * it.
 */
static void starts(const char *program, const char *path, const char *file, bool by_shell)
{
	assert_int_equal(run_execvp(program, path), 0);
	assert_int_equal(run_preflight(program, path), 0);
	assert_string_equal(found.path, file);
	assert_int_equal(found.by_shell, by_shell);
}

/*
 * Check that execvp() fails to start @program and that preflight() refuses it with the same exit
 * status.
 */
static void fails(const char *program, const char *path, int status)
{
	int error = run_execvp(program, path);

	assert_int_not_equal(error, 0);
	assert_int_equal(preflight_status(-error), status);
	assert_int_equal(preflight_status(run_preflight(program, path)), status);
	assert_non_null(strstr(message.text, "cannot run '"));
}

static void the_search_is_execvps(void **state)
{
	(void)state;
	mkdirat(directory, "one", 0755);
	mkdirat(directory, "two", 0755);
	mkdirat(directory, "one/prog", 0755);
	put("two/prog", "#!/bin/sh\n", 0755);
	put("prog", "#!/bin/sh\n", 0755);
	put("one/other", "#!/bin/sh\n", 0644);
	starts("prog", "one:two", "two/prog", false);
	starts("prog", "none::two", "prog", false);
	starts("prog", "none:", "prog", false);
	starts("prog", "", "prog", false);
	starts("./prog", "two", "./prog", false);
	starts("sh", NULL, "/bin/sh", false);
	fails("other", "none:one:two", 126);
	fails("prog", "one", 126);
	fails("nothing", "one:two:none", 127);
	fails("", "one", 127);
	fails("nothing", NULL, 127);
}

static void files_that_cannot_run(void **state)
{
	(void)state;
	put("plain", "#!/bin/sh\n", 0644);
	mkdirat(directory, "folder", 0755);
	mkfifoat(directory, "fifo", 0755);
	assert_int_equal(symlinkat("loop", directory, "loop"), 0);
	fails("./plain", NULL, 126);
	fails("./folder", NULL, 126);
	fails("./fifo", NULL, 126);
	fails("./loop", NULL, 126);
	fails("./plain/x", NULL, 126);
	fails("./none", NULL, 127);
}

static void scripts_lead_to_their_interpreters(void **state)
{
	(void)state;
	put("a", "#!/bin/sh\nexit 0\n", 0755);
	put("blanks", "#! \t/bin/sh \t-e \t\nexit 0\n", 0755);
	put("open-ended", "#!/bin/sh", 0755);
	put("missing", "#!/none/sh\n", 0755);
	put("denied", "#!./plain\n", 0755);
	put("plain", "#!/bin/sh\n", 0644);
	put("carriage", "#!/bin/sh\r\n", 0755);
	starts("./a", NULL, "./a", false);
	starts("./blanks", NULL, "./blanks", false);
	starts("./open-ended", NULL, "./open-ended", false);
	fails("./missing", NULL, 127);
	assert_non_null(strstr(message.text, "'/none/sh'"));
	fails("./denied", NULL, 126);
	assert_non_null(strstr(message.text, "'./plain'"));
	fails("./carriage", NULL, 127);
}

static void text_is_for_the_shell(void **state)
{
	(void)state;
	put("text", "exit 0\n", 0755);
	put("empty", "", 0755);
	put("no-name", "#!\n", 0755);
	put("no-name-either", "#! \t \n", 0755);
	put("not-quite", "#?/bin/sh\n", 0755);
	starts("./text", NULL, "./text", true);
	starts("text", ".", "./text", true);
	starts("./empty", NULL, "./empty", true);
	starts("./no-name", NULL, "./no-name", true);
	starts("./no-name-either", NULL, "./no-name-either", true);
	starts("./not-quite", NULL, "./not-quite", true);
}

/*
 * Make a chain of @length scripts, each the interpreter of another. /bin/sh runs the last script.
 */
static void chain(int length)
{
	char name[16], line[32];

	for (int i = 1; i <= length; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		if (i < length)
			snprintf(line, sizeof(line), "#!./s%d\n", i + 1);
		else
			strcpy(line, "#!/bin/sh\n");
		put(name, line, 0755);
	}
}

static void interpreters_nest_as_deep_as_the_kernel_has_it(void **state)
{
	(void)state;
	chain(5);
	starts("./s1", NULL, "./s1", false);
	chain(6);
	fails("./s1", NULL, 126);
}

static void a_first_line_can_be_too_long(void **state)
{
	char line[400];

	(void)state;
	memset(line, 'x', sizeof(line));
	memcpy(line, "#!/", 3);
	strcpy(line + 350, "\n");
	put("long", line, 0755);
	starts("./long", NULL, "./long", true);
	memcpy(line, "#!/bin/sh -", 11);
	put("long-argument", line, 0755);
	starts("./long-argument", NULL, "./long-argument", false);
}

static void a_program_beside_us_is_pointed_out(void **state)
{
	(void)state;
	put("here", "#!/bin/sh\n", 0755);
	fails("here", "/bin", 127);
	assert_non_null(strstr(message.hint, "'./here'"));
}

static void statuses(void **state)
{
	(void)state;
	assert_int_equal(preflight_status(-ENOTSUP), 125);
	assert_int_equal(preflight_status(-ENOENT), 127);
	assert_int_equal(preflight_status(-EACCES), 126);
	assert_int_equal(preflight_status(-ENOEXEC), 126);
	assert_int_equal(preflight_status(-E2BIG), 126);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(the_search_is_execvps),
		IN_FOLDER(files_that_cannot_run),
		IN_FOLDER(scripts_lead_to_their_interpreters),
		IN_FOLDER(text_is_for_the_shell),
		IN_FOLDER(interpreters_nest_as_deep_as_the_kernel_has_it),
		IN_FOLDER(a_first_line_can_be_too_long),
		IN_FOLDER(a_program_beside_us_is_pointed_out),
		cmocka_unit_test(statuses),
	};

	if (emulated()) {
		puts("skipped: the system's programs are for another CPU");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
