/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Test messages: which bytes reach stderr, and in how many writes. No escape sequences may reach
 * stderr. Also test progress lines on a terminal.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/diag.h"

/* Replace stderr by a socket, which keeps the text of each write(2) as one message. */
static int reader = -1, saved_stderr = -1;

static void capture(void)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	reader = pair[0];
	saved_stderr = dup(STDERR_FILENO);
	dup2(pair[1], STDERR_FILENO);
	close(pair[1]);
}

static void release(void)
{
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	close(reader);
}

/* Returns the text of the next write(2), or "" if there was none. */
static const char *next(void)
{
	static char text[8192];
	ssize_t bytes = read(reader, text, sizeof(text) - 1);

	text[bytes > 0 ? bytes : 0] = '\0';
	return text;
}

static void one_write_each(void **state)
{
	const struct diag_message both = {.text = "cannot open 'x'", .hint = "try 'y'"};
	const struct diag_message alone = {.text = "no"};

	(void)state;
	capture();
	diag_set_level(DIAG_NORMAL);
	diag_error("a %d", 1);
	assert_string_equal(next(), "flamerun: a 1\n");
	diag_hint("b");
	assert_string_equal(next(), "flamerun: hint: b\n");
	diag_report(&both);
	assert_string_equal(next(), "flamerun: cannot open 'x'\n");
	assert_string_equal(next(), "flamerun: hint: try 'y'\n");
	diag_report(&alone);
	assert_string_equal(next(), "flamerun: no\n");
	assert_string_equal(next(), "");
	release();
}

static void levels(void **state)
{
	static const char *const expected[][2] = {
		[DIAG_QUIET] = {"", ""},
		[DIAG_NORMAL] = {"flamerun: info\n", ""},
		[DIAG_VERBOSE] = {"flamerun: info\n", "flamerun: more\n"},
	};

	(void)state;
	for (int level = DIAG_QUIET; level <= DIAG_VERBOSE; level++) {
		capture();
		diag_set_level(level);
		diag_info("info");
		assert_string_equal(next(), expected[level][0]);
		diag_verbose("more");
		assert_string_equal(next(), expected[level][1]);
		diag_error("error");
		assert_string_equal(next(), "flamerun: error\n");
		release();
	}
	diag_set_level(DIAG_NORMAL);
}

static void expect_disarmed(const char *given, const char *shown)
{
	char expected[256];

	snprintf(expected, sizeof(expected), "flamerun: %s\n", shown);
	diag_error("%s", given);
	assert_string_equal(next(), expected);
}

static void nothing_a_terminal_would_act_on(void **state)
{
	(void)state;
	capture();
	expect_disarmed("\033[31mred\007", "?[31mred?");
	expect_disarmed("two\nlines\r\tx\177", "two?lines??x?");
	expect_disarmed("\302\233m and \302\240", "??m and \302\240");
	expect_disarmed("\233m", "?m");
	expect_disarmed(
		"\303\274 \342\202\254 \360\237\224\245", "\303\274 \342\202\254 \360\237\224\245");
	expect_disarmed("cut \342\202", "cut ??");
	expect_disarmed("cut \360\237\033", "cut ???");
	expect_disarmed("\300\200 \377 \365", "?? ? ?");
	release();
}

static void long_messages_are_cut(void **state)
{
	char *text = malloc(100001);
	const char *shown;

	(void)state;
	memset(text, 'x', 100000);
	text[100000] = '\0';
	capture();
	diag_error("%s", text);
	shown = next();
	assert_true(strlen(shown) > 1000 && strlen(shown) <= 4096);
	assert_int_equal(shown[strlen(shown) - 1], '\n');
	assert_string_equal(next(), "");
	release();
	free(text);
}

static void a_lost_stderr_hurts_nobody(void **state)
{
	int saved = dup(STDERR_FILENO), ends[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	dup2(ends[1], STDERR_FILENO);
	errno = ERANGE;
	diag_error("nobody reads this");
	assert_int_equal(errno, ERANGE);
	close(STDERR_FILENO);
	diag_error("no descriptor");
	assert_int_equal(errno, ERANGE);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(ends[1]);
}

static void messages_are_kept(void **state)
{
	struct diag_message message = {.hint = "stale"};

	(void)state;
	assert_int_equal(diag_fail(&message, -EPERM, "no %s", "way"), -EPERM);
	assert_string_equal(message.text, "no way");
	assert_string_equal(message.hint, "");
	diag_fail_hint(&message, "%d", 7);
	assert_string_equal(message.hint, "7");
	assert_int_equal(diag_fail(NULL, -EPERM, "nobody asked"), -EPERM);
	diag_fail_hint(NULL, "nobody asked");
}

static void limits_are_named(void **state)
{
	struct rlimit before, some, memory;
	struct diag_message message;

	(void)state;
	/*
	 * Emulators do not pass limits on memory to the kernel, but they do pass the limit on open
	 * files.
	 */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	some = before;
	some.rlim_cur = 32;
	if (before.rlim_cur < some.rlim_cur)
		skip();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &some), 0);
	assert_int_equal(diag_fail(&message, -EMFILE, "no more files"), -EMFILE);
	assert_string_equal(message.hint, "ulimit -n allows no more than 32 open files");
	diag_fail(&message, -EIO, "something else");
	assert_string_equal(message.hint, "");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(getrlimit(RLIMIT_AS, &memory), 0);
	diag_fail(&message, -ENOMEM, "out of memory");
	if (memory.rlim_cur == RLIM_INFINITY)
		assert_null(strstr(message.hint, "ulimit -v"));
	else
		assert_non_null(strstr(message.hint, "ulimit -v"));
}

/* ---- progress ---------- */

#define SHORT_US 10000
#define LONG_US  1300000
#define GUARD_S  60

enum { FOREGROUND = 1, QUIET = 2, NARROW = 4 };

/*
 * Do nothing for @duration_us microseconds; if that is 0, wait until the other end of @shown is
 * closed.
 */
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
 * Run work() in a session on a new terminal and check the text on stderr. The work takes
 * @duration_us; if that is 0, it lasts until stderr shows anything.
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
		cmocka_unit_test(one_write_each),
		cmocka_unit_test(levels),
		cmocka_unit_test(nothing_a_terminal_would_act_on),
		cmocka_unit_test(long_messages_are_cut),
		cmocka_unit_test(a_lost_stderr_hurts_nobody),
		cmocka_unit_test(messages_are_kept),
		cmocka_unit_test(limits_are_named),
		cmocka_unit_test(long_work_is_announced_and_the_line_taken_back),
		cmocka_unit_test(a_narrow_terminal_gets_what_fits),
		cmocka_unit_test(short_work_is_not),
		cmocka_unit_test(nobody_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
