/* SPDX-License-Identifier: MIT */
/* Run a test's code in a child process, because it can run only once in a process or may end it. */
#ifndef TESTS_UNIT_IN_CHILD_H
#define TESTS_UNIT_IN_CHILD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* result of a body that cannot be tested here, because the system lacks a feature */
#define CANNOT 99
#define CHILD_LIFE_S 30

/*
 * Run @body in a child process, for at most CHILD_LIFE_S seconds. Returns what @body returned, or
 * 1000 + the signal that killed the child.
 */
static inline int in_child(int (*body)(void))
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		alarm(CHILD_LIFE_S);
		_exit(body());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Fail the test unless @body returns 0 in a child; skip the test if it returns CANNOT. */
static inline void check_in_child(int (*body)(void))
{
	int status = in_child(body);

	if (status == CANNOT)
		skip();
	assert_int_equal(status, 0);
}

#endif
