/* SPDX-License-Identifier: MIT */
/*
 * The line that says what takes so long, as a terminal gets it.
 */
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/diag.h"
#include "cli/run/progress.h"

#define SHORT_US 10000
#define LONG_US  1300000
#define GUARD_S  60

enum { FOREGROUND = 1, QUIET = 2, NARROW = 4 };

/* For @duration_us, or where that is 0 until the other end of @shown has been closed. */
static void work(int flags, unsigned duration_us, int shown)
{
	char byte;

	alarm(GUARD_S);
	if (flags & QUIET)
		diag_set_level(DIAG_QUIET);
	progress_begin("naming 1,234 '%s'", "\033[2Jx");
	if (duration_us)
		usleep(duration_us);
	else
		(void)!read(shown, &byte, 1);
	progress_end();
	_exit(0);
}

/*
 * What stderr shows of work that takes @duration_us, 0: until it shows anything, in a session whose
 * terminal it is.
 */
static void expect(int flags, unsigned duration_us, const char *text)
{
	struct winsize size = {.ws_row = 24, .ws_col = flags & NARROW ? 20 : 80};
	char have[512] = "";
	size_t bytes = 0;
	ssize_t got;
	int terminal, ours, shown[2];
	pid_t child;

	assert_int_equal(openpty(&terminal, &ours, NULL, NULL, &size), 0);
	assert_int_equal(pipe(shown), 0);
	child = fork();
	if (!child) {
		setsid();
		if (flags & FOREGROUND)
			ioctl(ours, TIOCSCTTY, 0);
		dup2(ours, STDERR_FILENO);
		close(terminal);
		close(shown[1]);
		work(flags, duration_us, shown[0]);
	}
	close(ours);
	close(shown[0]);
	while (bytes < sizeof(have) - 1 &&
		(got = read(terminal, have + bytes, sizeof(have) - 1 - bytes)) > 0) {
		if (!bytes)
			close(shown[1]);
		bytes += (size_t)got;
	}
	if (!bytes)
		close(shown[1]);
	close(terminal);
	waitpid(child, NULL, 0);
	assert_string_equal(have, text);
}

static void long_work_is_announced_and_the_line_taken_back(void **state)
{
	char text[256];
	const char *line = "flamerun: naming 1,234 '?[2Jx' ...";

	(void)state;
	snprintf(text, sizeof(text), "%s\r%*s\r", line, (int)strlen(line), "");
	expect(FOREGROUND, 0, text);
}

static void a_narrow_terminal_gets_what_fits(void **state)
{
	char text[256];

	(void)state;
	snprintf(text, sizeof(text), "%.19s\r%19s\r", "flamerun: naming 1,234", "");
	expect(FOREGROUND | NARROW, 0, text);
}

static void short_work_is_not(void **state)
{
	(void)state;
	expect(FOREGROUND, SHORT_US, "");
}

static void nobody_asked(void **state)
{
	(void)state;
	expect(FOREGROUND | QUIET, LONG_US, "");
	expect(0, LONG_US, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_work_is_announced_and_the_line_taken_back),
		cmocka_unit_test(a_narrow_terminal_gets_what_fits),
		cmocka_unit_test(short_work_is_not),
		cmocka_unit_test(nobody_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
