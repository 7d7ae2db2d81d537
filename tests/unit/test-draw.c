/* SPDX-License-Identifier: MIT */
/*
 * A host program runs flamerun to draw a profile: check flamerun's arguments and result, and that
 * the host sees no side effects.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libprof/session/draw.h"

extern char **environ;

static char folder[64];
static char *const no_environment[] = {NULL};

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/test-draw.XXXXXX");
	assert_non_null(mkdtemp(folder));
	setenv("PATH", folder, 1);
	return chdir(folder);
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	setenv("PATH", "/usr/bin:/bin", 1);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

/* Make an executable "flamerun" that runs @script. */
static void make_flamerun(const char *script)
{
	FILE *out = fopen("flamerun", "w");

	fprintf(out, "#!/bin/sh\nPATH=/usr/bin:/bin\n%s\n", script);
	fchmod(fileno(out), 0755);
	fclose(out);
}

static const char *contents(const char *path)
{
	static char text[4096];
	FILE *in = fopen(path, "r");

	assert_non_null(in);
	text[fread(text, 1, sizeof(text) - 1, in)] = '\0';
	fclose(in);
	return text;
}

static int run_shell(const char *script)
{
	const char *const arguments[] = {"sh", "-c", script, NULL};

	return detached_run("/bin/sh", arguments, no_environment);
}

/*
 * Skip the test under qemu-user, where detached_run() cannot make the child that shares the host's
 * memory.
 */
static void skip_without_stand_in(void)
{
	if (run_shell("exit 0") == -EINVAL)
		skip();
}

static void test_a_status_comes_back(void **state)
{
	const char *const arguments[] = {"x", NULL};

	(void)state;
	skip_without_stand_in();
	assert_int_equal(run_shell("exit 0"), 0);
	assert_int_equal(run_shell("exit 3"), -EIO);
	assert_int_equal(run_shell("kill -9 $$"), -EIO);
	assert_int_equal(detached_run("/nowhere/at/all", arguments, no_environment), -EIO);
}

static volatile sig_atomic_t seen;

static void count(int signal)
{
	(void)signal;
	seen++;
}

static void test_no_sigchld_and_no_child(void **state)
{
	struct sigaction old, action = {.sa_handler = count};
	siginfo_t info;

	(void)state;
	skip_without_stand_in();
	seen = 0;
	assert_int_equal(sigaction(SIGCHLD, &action, &old), 0);
	assert_int_equal(run_shell("exit 0"), 0);
	assert_int_equal(run_shell("exit 1"), -EIO);
	sigaction(SIGCHLD, &old, NULL);
	assert_int_equal(seen, 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	/* The child has been reaped: no child of any kind is left. */
	assert_int_equal(waitpid(-1, NULL, __WALL | WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void test_ignored_sigchld_keeps_the_status(void **state)
{
	struct sigaction old, action = {.sa_handler = SIG_IGN, .sa_flags = SA_NOCLDWAIT};

	(void)state;
	skip_without_stand_in();
	sigaction(SIGCHLD, &action, &old);
	assert_int_equal(run_shell("exit 0"), 0);
	assert_int_equal(run_shell("exit 1"), -EIO);
	sigaction(SIGCHLD, NULL, &action);
	assert_ptr_equal(action.sa_handler, SIG_IGN);
	sigaction(SIGCHLD, &old, NULL);
}

static int stop_waiting;

/*
 * Wait for any child, as a host's thread may do at any time. It must never get the child that
 * draws.
 */
static void *wait_for_any(void *found)
{
	while (!__atomic_load_n(&stop_waiting, __ATOMIC_RELAXED))
		if (waitpid(-1, NULL, WNOHANG) > 0)
			++*(int *)found;
	return NULL;
}

static void test_another_thread_waits_for_any_child(void **state)
{
	pthread_t thread;
	int found = 0, child;

	(void)state;
	skip_without_stand_in();
	__atomic_store_n(&stop_waiting, 0, __ATOMIC_RELAXED);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_any, &found), 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(run_shell("exit 0"), 0);
	assert_int_equal(found, 0);
	child = fork();
	if (!child)
		_exit(0);
	while (!kill(child, 0))
		usleep(1000);
	__atomic_store_n(&stop_waiting, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	assert_int_equal(found, 1);
}

static void test_signals_are_default_and_open(void **state)
{
	sigset_t all, before, after;
	struct sigaction old, action = {.sa_handler = SIG_IGN};

	(void)state;
	skip_without_stand_in();
	sigfillset(&all);
	sigaction(SIGPIPE, &action, &old);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	assert_int_equal(run_shell("grep -E 'Sig(Blk|Ign)' /proc/self/status >status"), 0);
	pthread_sigmask(SIG_SETMASK, &before, &after);
	sigaction(SIGPIPE, &old, &action);
	assert_string_equal(
		contents("status"), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
	/* The host's signal mask and actions are unchanged. */
	assert_int_equal(sigismember(&after, SIGUSR1), 1);
	assert_ptr_equal(action.sa_handler, SIG_IGN);
}

static void test_descriptors_stay_with_the_host(void **state)
{
	int ends[2];
	char byte;

	(void)state;
	skip_without_stand_in();
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(run_shell("(ls -l /proc/$$/fd) >fds; (sleep 2 &) "), 0);
	/* The process that still sleeps must not hold the pipe open. */
	close(ends[1]);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
	assert_null(strstr(contents("fds"), "pipe:"));
	assert_non_null(strstr(contents("fds"), " 0 -> /dev/null"));
	assert_non_null(strstr(contents("fds"), " 1 -> /dev/null"));
	assert_non_null(strstr(contents("fds"), " 2 -> /dev/null"));
	assert_true(fcntl(1, F_GETFD) >= 0);
}

static void test_a_session_of_its_own(void **state)
{
	(void)state;
	skip_without_stand_in();
	assert_int_equal(run_shell("test $(ps -o sid= -p $$) = $$"), 0);
}

static void *run_many(void *failed)
{
	for (int i = 0; i < 20; i++)
		*(int *)failed += run_shell("exit 0") || run_shell("exit 1") != -EIO;
	return NULL;
}

static void test_several_threads_at_once(void **state)
{
	pthread_t threads[4];
	int failed[4] = {0};

	(void)state;
	skip_without_stand_in();
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_many, &failed[i]), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(failed[i], 0);
	}
}

static void test_without_flamerun(void **state)
{
	char path[PATH_MAX];

	(void)state;
	setenv("PATH", ".:/nowhere::", 1);
	/* flamerun is in the current folder only, which is not searched. */
	make_flamerun("exit 0");
	assert_int_equal(find_flamerun(path), -ENOENT);
	assert_int_equal(draw_profile("in.pb", "out.svg", 0), -ENOENT);
	setenv("PATH", folder, 1);
	chmod("flamerun", 0644);
	assert_int_equal(find_flamerun(path), -ENOENT);
	unsetenv("PATH");
	assert_int_equal(find_flamerun(path), -ENOENT);
	setenv("PATH", folder, 1);
}

static void test_what_flamerun_is_told(void **state)
{
	(void)state;
	skip_without_stand_in();
	make_flamerun("printf '%s\\n' \"$@\" >told; env >environment; exit 0");
	setenv("FLAMERUN_CHANNEL", "1:2:3:4", 1);
	setenv("FLAMERUN_WIDTH", "300", 1);
	setenv("KEPT", "as it is", 1);
	assert_int_equal(draw_profile("p %p.svg.pb", "p %p.svg", 0), 0);
	unsetenv("FLAMERUN_CHANNEL");
	unsetenv("FLAMERUN_WIDTH");
	assert_string_equal(contents("told"),
		"render\n--no-config\n--quiet\n--no-debuginfod\n-o\np %%p.svg\n--\np %p.svg.pb\n");
	assert_null(strstr(contents("environment"), "FLAMERUN_"));
	assert_non_null(strstr(contents("environment"), "KEPT=as it is\n"));
}

/*
 * flamerun's LD_PRELOAD must not contain this library but keep the others. ld.so's complaints about
 * missing libraries go to /dev/null.
 */
static void test_preloads_of_others_are_kept(void **state)
{
	(void)state;
	skip_without_stand_in();
	make_flamerun("env >environment; exit 0");
	setenv("LD_PRELOAD", "/a/libflameprof.so.1:/x/other.so /b/libflameprof.so.1 third.so", 1);
	assert_int_equal(draw_profile("in.pb", "out.svg", 0), 0);
	unsetenv("LD_PRELOAD");
	assert_non_null(strstr(contents("environment"), "LD_PRELOAD=/x/other.so:third.so:\n"));
	setenv("LD_PRELOAD", "/a/libflameprof.so.1", 1);
	assert_int_equal(draw_profile("in.pb", "out.svg", 0), 0);
	unsetenv("LD_PRELOAD");
	assert_non_null(strstr(contents("environment"), "LD_PRELOAD=\n"));
}

static void test_a_flamerun_that_fails(void **state)
{
	(void)state;
	skip_without_stand_in();
	make_flamerun("exit 125");
	assert_int_equal(draw_profile("in.pb", "out.svg", 0), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_status_comes_back),
		cmocka_unit_test(test_no_sigchld_and_no_child),
		cmocka_unit_test(test_ignored_sigchld_keeps_the_status),
		cmocka_unit_test(test_another_thread_waits_for_any_child),
		cmocka_unit_test(test_signals_are_default_and_open),
		cmocka_unit_test(test_descriptors_stay_with_the_host),
		cmocka_unit_test(test_a_session_of_its_own),
		cmocka_unit_test(test_several_threads_at_once),
		cmocka_unit_test(test_without_flamerun),
		cmocka_unit_test(test_what_flamerun_is_told),
		cmocka_unit_test(test_preloads_of_others_are_kept),
		cmocka_unit_test(test_a_flamerun_that_fails),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
