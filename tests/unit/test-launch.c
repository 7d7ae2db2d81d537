/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* Test the environment that flamerun gives to a program, and how an error of exec is reported. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/run/launch.h"
#include "cli/run/signals.h"

#define LIBRARY "/opt/lib/libflameprof.so.1"
#define CHANNEL "FLAMERUN_CHANNEL=1:2:3:4"

/* Returns the environment made from @base as text, one variable per line. */
static const char *made(char *const *base)
{
	static char text[1024];
	char **environment = launch_environment(base, LIBRARY, CHANNEL);

	text[0] = '\0';
	for (char **entry = environment; *entry; entry++) {
		strcat(text, *entry);
		strcat(text, "\n");
	}
	launch_environment_free(environment);
	return text;
}

#define MADE(...) made((char *[]){__VA_ARGS__, NULL})

static void the_library_comes_last(void **state)
{
	(void)state;
	assert_string_equal(made((char *[]){NULL}), "LD_PRELOAD=" LIBRARY "\n" CHANNEL "\n");
	assert_string_equal(MADE((char *)"A=1", (char *)"LD_PRELOAD=/x.so y.so", (char *)"B=2"),
		"LD_PRELOAD=/x.so y.so:" LIBRARY "\n" CHANNEL "\nA=1\nB=2\n");
	assert_string_equal(MADE((char *)"LD_PRELOAD="), "LD_PRELOAD=" LIBRARY "\n" CHANNEL "\n");
}

static void nothing_stands_twice(void **state)
{
	(void)state;
	assert_string_equal(MADE((char *)"FLAMERUN_CHANNEL=old", (char *)"FLAMERUN_CHANNELS=x"),
		"LD_PRELOAD=" LIBRARY "\n" CHANNEL "\nFLAMERUN_CHANNELS=x\n");
	assert_string_equal(MADE((char *)"LD_PRELOAD=/x.so " LIBRARY),
		"LD_PRELOAD=/x.so " LIBRARY "\n" CHANNEL "\n");
	assert_string_equal(MADE((char *)"LD_PRELOAD=" LIBRARY ".old"),
		"LD_PRELOAD=" LIBRARY ".old:" LIBRARY "\n" CHANNEL "\n");
}

/*
 * Returns launch()'s result for @path. Stores in *@ended the child's exit status if there was a
 * child.
 */
static int start(const char *path, int *ended, struct diag_message *message)
{
	struct preflight program = {.by_shell = false};
	char *argv[] = {(char *)"prog", (char *)"-c", (char *)"exit 7", NULL};
	const struct launch_request request = {
		.program = &program, .argv = argv, .library = "", .channel = CHANNEL};
	pid_t child = 0;
	int status, wait_status;

	snprintf(program.path, sizeof(program.path), "%s", path);
	signals_begin();
	status = launch(&child, &request, message);
	if (!status) {
		assert_int_equal(waitpid(child, &wait_status, 0), child);
		*ended = WEXITSTATUS(wait_status);
	}
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	return status;
}

static void the_program_runs(void **state)
{
	struct diag_message message = {0};
	int ended = -1;

	(void)state;
	assert_int_equal(start("/bin/sh", &ended, &message), 0);
	assert_int_equal(ended, 7);
}

static void exec_errors_come_back(void **state)
{
	struct diag_message message = {0};
	int ended = -1;

	(void)state;
	assert_int_equal(start("/none", &ended, &message), 127);
	assert_string_equal(message.text, "cannot run 'prog': No such file or directory");
	assert_int_equal(start("/", &ended, &message), 126);
	assert_string_equal(message.text, "cannot run 'prog': Permission denied");
	assert_int_equal(ended, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_library_comes_last),
		cmocka_unit_test(nothing_stands_twice),
		cmocka_unit_test(the_program_runs),
		cmocka_unit_test(exec_errors_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
