/* SPDX-License-Identifier: MIT */
/* Checked also: threads, emulated. */
/*
 * Test the table of virtual machines' functions: functions with equal name, file and line share one
 * entry, whichever thread looks them up. Also test the table's limit, and control records with
 * wrong sizes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libprof/sampler/ring.h"
#include "libprof/vmstack/function.h"
#include "libprof/wire_control.h"

#define NAMES	3000
#define THREADS 4

static struct function *find(const char *name, const char *file, uint32_t line)
{
	const struct flameprof_vm_frame frame = {name, file, line};
	struct function_file before = {0};

	return function_find(&frame, &before);
}

static void what_is_equal_is_one(void **state)
{
	struct function *fib = find("fib", "a.lua", 1);

	(void)state;
	assert_ptr_equal(find("fib", "a.lua", 1), fib);
	assert_ptr_not_equal(find("fib", "a.lua", 2), fib);
	/* The same letters, divided differently between name and file, are another function. */
	assert_ptr_not_equal(find("fi", "ba.lua", 1), fib);
	assert_ptr_not_equal(find("fiba.lua", NULL, 1), fib);
	assert_ptr_equal(find(NULL, NULL, 1), find("", "", 1));
	assert_string_equal(find(NULL, NULL, 1)->text, "[anonymous]");
	assert_ptr_not_equal(function_root(), function_other());
	assert_int_not_equal(function_root()->space, function_other()->space);
}

/*
 * The cache compares the file's pointer, but each call must also read the letters to which it
 * points.
 */
static void a_file_is_what_it_says(void **state)
{
	char file[] = "one.lua";
	struct flameprof_vm_frame frame = {"f", file, 1};
	struct function_file before = {0};
	struct function *one = function_find(&frame, &before);

	(void)state;
	assert_ptr_equal(function_find(&frame, &before), one);
	memcpy(file, "two", 3);
	before = (struct function_file){0};
	assert_ptr_not_equal(function_find(&frame, &before), one);
	assert_ptr_equal(find("f", "one.lua", 1), one);
	assert_ptr_equal(find("f", "two.lua", 1), function_find(&frame, &before));
}

static struct function *found[THREADS][NAMES];
static uint32_t arrived[NAMES]; /* atomic */

/* All threads look up each name at once. One of them inserts it, the others find it. */
static void *find_all(void *argument)
{
	uintptr_t thread = (uintptr_t)argument;
	char name[32];

	for (uint32_t i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "concurrent %u", i);
		__atomic_fetch_add(&arrived[i], 1, __ATOMIC_ACQ_REL);
		while (__atomic_load_n(&arrived[i], __ATOMIC_ACQUIRE) < THREADS)
			sched_yield();
		found[thread][i] = find(name, "c.lua", i);
	}
	return NULL;
}

static void threads_agree(void **state)
{
	pthread_t ids[THREADS];
	char name[32];

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&ids[i], NULL, find_all, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	for (uint32_t i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "concurrent %u", i);
		assert_string_equal(found[0][i]->text, name);
		assert_int_equal(found[0][i]->line, i);
		for (int thread = 1; thread < THREADS; thread++)
			assert_ptr_equal(found[thread][i], found[0][i]);
		if (i)
			assert_int_not_equal(found[0][i]->space, found[0][i - 1]->space);
	}
}

static void *make_new_ones(void *stop)
{
	char name[32];

	for (uint32_t i = 0; !__atomic_load_n((uint32_t *)stop, __ATOMIC_RELAXED); i++) {
		snprintf(name, sizeof(name), "while forking %u", i % 50000);
		find(name, NULL, 0);
	}
	return NULL;
}

/* A fork child can insert functions even if another thread of the parent was inserting one. */
static void forks_leave_no_lock_behind(void **state)
{
	uint32_t stop = 0;
	pthread_t id;
	int status;

	(void)state;
	assert_int_equal(pthread_create(&id, NULL, make_new_ones, &stop), 0);
	for (int i = 0; i < 100; i++) {
		pid_t pid = fork();

		if (!pid) {
			alarm(20);
			_exit(find("of the child", NULL, 7)->line == 7 ? 0 : 1);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(id, NULL);
}

/* Run in a child, so that the memory for a million functions is freed with it. */
static void beyond_a_million_there_is_one(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		struct function *fib = find("fib", "a.lua", 1);
		uint32_t others = 0;

		for (uint32_t i = 0; i < FUNCTIONS_MAX + 1000; i++)
			others += find("f", "million.lua", i) == function_other();
		/*
		 * Functions that were inserted before are still found. Those that were refused are
		 * refused again.
		 */
		if (find("fib", "a.lua", 1) != fib || find("f", "million.lua", 5)->line != 5)
			_exit(1);
		_exit(others >= 1000 && others < 100000 &&
				      find("g", NULL, 0) == function_other()
			? 0
			: 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void texts_have_a_ceiling(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		char *name = malloc(FLAMEPROF_NAME_BYTES + 1);
		uint32_t i = 0;

		memset(name, 'x', FLAMEPROF_NAME_BYTES);
		name[FLAMEPROF_NAME_BYTES] = '\0';
		while (i < 100000 && find(name, NULL, i) != function_other())
			i++;
		_exit(i > 30000 && i <= FUNCTION_TEXT_MAX / FLAMEPROF_NAME_BYTES ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- control records ------------------------------------------------------------------------- */

#define ROOM 64u

static enum wire_control_step take_record(uint32_t bytes, uint32_t name_bytes, uint32_t file_bytes,
	struct wire_control_record *record)
{
	static struct wire_slot slot;
	static char ring[WIRE_CONTROL_BYTES] __attribute__((aligned(8)));
	struct wire_function *function;

	memset(&slot, 0, sizeof(slot));
	memset(ring, 0, sizeof(ring));
	function = (struct wire_function *)control_reserve(&slot, ring, bytes);
	memset(function->name, 'a', bytes - offsetof(struct wire_function, name));
	function->name_bytes = name_bytes;
	function->file_bytes = file_bytes;
	control_commit(&function->control, bytes, WIRE_CONTROL_FUNCTION);
	return wire_control_read(&slot, ring, record);
}

static void records_hold_what_they_say(void **state)
{
	static struct wire_control_record record;
	const uint32_t bytes = (uint32_t)offsetof(struct wire_function, name) + ROOM;
	const uint32_t bad[][2] = {{0, ROOM}, {ROOM, 0}, {ROOM, 1}, {1, ROOM}, {ROOM + 1, 1},
		{UINT32_MAX, 2}, {2, UINT32_MAX}, {UINT32_MAX, UINT32_MAX}};

	(void)state;
	assert_int_equal(take_record(bytes, 10, ROOM - 10, &record), WIRE_CONTROL_TAKEN);
	assert_string_equal(record.function.name, "aaaaaaaaa");
	assert_int_equal(strlen(record.function.name + 10), ROOM - 11);
	assert_int_equal(take_record(bytes, 1, 1, &record), WIRE_CONTROL_TAKEN);
	assert_string_equal(record.function.name, "");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(
			take_record(bytes, bad[i][0], bad[i][1], &record), WIRE_CONTROL_SKIPPED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_equal_is_one),
		cmocka_unit_test(a_file_is_what_it_says),
		cmocka_unit_test(threads_agree),
		cmocka_unit_test(forks_leave_no_lock_behind),
		cmocka_unit_test(beyond_a_million_there_is_one),
		cmocka_unit_test(texts_have_a_ceiling),
		cmocka_unit_test(records_hold_what_they_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
