/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * own_stack_run() and own_stack_thread() give functions and threads enough stack under a small
 * stack limit. Signals must be delivered to the thread that runs the function.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "cli/own_stack.h"
#include "tests/unit/in-child.h"

#define LITTLE_BYTES (256u << 10)

/*
 * bytes of stack that a function uses; more than the test's stack limit, less than OWN_STACK_BYTES
 */
#define TAKEN_BYTES (4u << 20)

static volatile sig_atomic_t caught_by;

static void on_signal(int signal)
{
	(void)signal;
	caught_by = gettid();
}

static bool limit_stack(void)
{
	const struct rlimit little = {LITTLE_BYTES, LITTLE_BYTES};

	return !setrlimit(RLIMIT_STACK, &little);
}

/* What use_stack() observed. */
struct seen {
	pid_t thread;
	bool is_blocked; /* SIGUSR1 */
	bool was_caught;
};

static void use_stack(void *argument)
{
	volatile char frame[TAKEN_BYTES];
	struct seen *seen = argument;
	sigset_t mask;

	for (size_t i = 0; i < sizeof(frame); i += 4096)
		frame[i] = 1;
	seen->thread = gettid();
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	seen->is_blocked = sigismember(&mask, SIGUSR1) == 1;
	kill(getpid(), SIGUSR2);
	seen->was_caught = caught_by == seen->thread;
}

static int is_enough(void)
{
	struct seen seen = {0};
	sigset_t mask;

	signal(SIGUSR2, on_signal);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (!limit_stack())
		return CANNOT;
	if (own_stack_call(use_stack, &seen))
		return 1;
	if (!seen.is_blocked || !seen.was_caught)
		return 2;
	/* After the call the signal mask must be as before. */
	sigprocmask(SIG_SETMASK, NULL, &mask);
	return sigismember(&mask, SIGUSR1) != 1 || sigismember(&mask, SIGUSR2) ? 3 : 0;
}

static void a_little_limit_binds_nobody(void **state)
{
	(void)state;
	check_in_child(is_enough);
}

static int needs_none(void)
{
	const struct rlimit usual = {OWN_STACK_BYTES, RLIM_INFINITY};
	struct seen seen = {0};

	signal(SIGUSR2, on_signal);
	if (setrlimit(RLIMIT_STACK, &usual))
		return CANNOT;
	return own_stack_call(use_stack, &seen) || seen.thread != gettid();
}

static void without_a_limit_there_is_no_thread(void **state)
{
	(void)state;
	check_in_child(needs_none);
}

static void *use_stack_in_thread(void *argument)
{
	use_stack(argument);
	return NULL;
}

static int thread_has_it(void)
{
	struct seen seen = {0};
	pthread_attr_t little;
	pthread_t thread;

	signal(SIGUSR2, on_signal);
	/*
	 * A stack limit becomes the default stack size of the process's threads, so set this
	 * default too.
	 */
	pthread_attr_init(&little);
	pthread_attr_setstacksize(&little, LITTLE_BYTES);
	if (!limit_stack() || pthread_setattr_default_np(&little))
		return CANNOT;
	return own_stack_thread(&thread, use_stack_in_thread, &seen) || pthread_join(thread, NULL);
}

static void threads_have_as_much(void **state)
{
	(void)state;
	check_in_child(thread_has_it);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_little_limit_binds_nobody),
		cmocka_unit_test(without_a_limit_there_is_no_thread),
		cmocka_unit_test(threads_have_as_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
