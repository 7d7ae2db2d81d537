/* SPDX-License-Identifier: MIT */
/* Checked also: threads. */
/*
 * Many threads begin, query and end scopes at once. Each thread whose scope runs must get its
 * picture, and no call may wait for ever. tests/e2e/test_library_scopes.py tests a scope that its
 * block leaves.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "libprof/flameprof_profile.h"
#include "libprof/flameprof_scope.h"

#define THREADS 8
#define TURNS	60

static char folder[] = "/tmp/test-scope-XXXXXX";

static void burn(void)
{
	for (volatile unsigned i = 0; i < 200000; i++)
		;
}

static int begin_folder(void **state)
{
	(void)state;
	return !mkdtemp(folder) || chdir(folder);
}

static int end_folder(void **state)
{
	char command[sizeof(folder) + 16];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return chdir("/") || system(command);
}

static int exists(const char *path)
{
	return !access(path, F_OK);
}

/* Results of one thread. cmocka's assertions work in the main thread only. */
struct found {
	unsigned number, ran, busy;
	int wrong; /* line of a failed check, or 0 */
};

#define HOLDS(condition)                                                      \
	do {                                                                  \
		if (!(condition) && !found->wrong)                            \
			found->wrong = __LINE__;                              \
	} while (0)

static void take_turn(struct found *found, unsigned turn)
{
	char path[64];
	int status;

	snprintf(path, sizeof(path), "%u-%u.pb", found->number, turn);
	FLAMEPROF_SCOPE_AS(scope, path, .rate = 1000);
	status = flameprof_scope_status(&scope);
	HOLDS(status == 0 || status == -EBUSY);
	burn();
	HOLDS(flameprof_scope_status(&scope) == status);
	if (turn % 3 == 0)
		HOLDS(flameprof_scope_end(&scope) == status);
	if (turn % 3 == 0)
		HOLDS(exists(path) == !status);
	if (status)
		found->busy++;
	else
		found->ran++;
}

static void *take_turns(void *argument)
{
	struct found *found = argument;
	struct flameprof_scope_report last;

	for (unsigned turn = 0; turn < TURNS; turn++) {
		take_turn(found, turn);
		if (!flameprof_scope_last(&last))
			HOLDS(!last.error && last.left == FLAMEPROF_SCOPE_BLOCK);
	}
	return NULL;
}

static unsigned count_pictures(void)
{
	unsigned count = 0;
	char path[64];

	for (unsigned number = 0; number < THREADS; number++)
		for (unsigned turn = 0; turn < TURNS; turn++) {
			snprintf(path, sizeof(path), "%u-%u.pb", number, turn);
			count += (unsigned)exists(path);
		}
	return count;
}

static void many_threads(void **state)
{
	struct found found[THREADS] = {{0}};
	pthread_t threads[THREADS];
	unsigned ran = 0, busy = 0;

	(void)state;
	for (unsigned i = 0; i < THREADS; i++) {
		found[i].number = i;
		assert_int_equal(pthread_create(&threads[i], NULL, take_turns, &found[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		if (found[i].wrong)
			fail_msg("thread %u: line %d", i, found[i].wrong);
		ran += found[i].ran;
		busy += found[i].busy;
	}
	assert_int_equal(ran + busy, THREADS * TURNS);
	assert_true(ran > 0);
	assert_true(busy > 0);
	assert_int_equal(count_pictures(), ran);
	assert_int_equal(flameprof_status(), FLAMEPROF_STOPPED);
}

static void what_cannot_begin_is_told(void **state)
{
	struct flameprof_options strange = {.flags = 1u << 31};
	static char path[5000];
	struct flameprof_scope scope;

	(void)state;
	memset(path, 'p', sizeof(path) - 1);
	errno = ENOTTY;
	assert_int_equal(flameprof_scope_begin(&scope, path, NULL), -ENAMETOOLONG);
	scope.state = flameprof_scope_begin(&scope, "a.pb", &strange);
	assert_int_equal(scope.state, -EINVAL);
	assert_int_equal(flameprof_scope_status(&scope), -EINVAL);
	assert_int_equal(flameprof_scope_end(&scope), -EINVAL);
	assert_int_equal(errno, ENOTTY);
	assert_false(exists("a.pb"));
}

static void what_cannot_be_written_is_told(void **state)
{
	struct flameprof_scope_report last;
	struct flameprof_scope scope;

	(void)state;
	scope.state = flameprof_scope_begin(&scope, "none/a.pb", NULL);
	assert_true(scope.state > 0);
	assert_int_equal(flameprof_scope_end(&scope), -ENOENT);
	assert_int_equal(flameprof_scope_status(&scope), -ENOENT);
	scope.state = flameprof_scope_begin(&scope, "a.unknown", NULL);
	assert_int_equal(flameprof_scope_end(&scope), -EINVAL);
	assert_int_equal(flameprof_scope_last(&last), 0);
	assert_int_equal(last.error, -EINVAL);
	assert_true(last.elapsed_ns > 0 && last.start_wall_s > 0);
}

/*
 * A scope that has ended is forgotten when another scope has ended, because its memory may be
 * reused.
 */
static void old_scopes_are_forgotten(void **state)
{
	struct flameprof_scope first, second;
	int64_t ticket;

	(void)state;
	first.state = ticket = flameprof_scope_begin(&first, "a.pb", NULL);
	assert_int_equal(flameprof_scope_end(&first), 0);
	first.state = ticket;
	assert_int_equal(flameprof_scope_status(&first), 0);
	second.state = flameprof_scope_begin(&second, "b.pb", NULL);
	assert_int_equal(flameprof_scope_end(&second), 0);
	assert_int_equal(flameprof_scope_status(&first), -ESRCH);
	assert_int_equal(flameprof_scope_end(&first), -ESRCH);
}

/*
 * While the picture is written, the thread cannot be cancelled. Afterwards its cancel state is as
 * before.
 */
static void cancelling_is_as_before(void **state)
{
	static const int states[] = {PTHREAD_CANCEL_ENABLE, PTHREAD_CANCEL_DISABLE};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		int after;

		pthread_setcancelstate(states[i], NULL);
		{
			FLAMEPROF_SCOPE_AS(scope, "cancelling.pb", .rate = 1000);
			assert_int_equal(flameprof_scope_end(&scope), 0);
		}
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &after);
		assert_int_equal(after, states[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_begin_is_told),
		cmocka_unit_test(many_threads),
		cmocka_unit_test(what_cannot_be_written_is_told),
		cmocka_unit_test(old_scopes_are_forgotten),
		cmocka_unit_test(cancelling_is_as_before),
	};

	return cmocka_run_group_tests(tests, begin_folder, end_folder);
}
