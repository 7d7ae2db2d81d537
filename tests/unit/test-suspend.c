/* SPDX-License-Identifier: MIT */
/*
 * Suspend stubs (record and remove them) and make them again, as a host does that saves an image of
 * its memory.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "libprof/flameprof_stub.h"

#define CALLS 300u /* more than a chunk holds */
#define BINDS 5u

static uintptr_t same(uintptr_t value)
{
	return value;
}

static struct flameprof_arena *calls, *binds;
/* Pointers to stubs, kept in the host's memory. */
static flameprof_function *called[CALLS], *bound[BINDS];
static unsigned visits, uninjected;
static int answer;

static flameprof_function **place_of(const struct flameprof_stub_record *stub)
{
	char name[32];

	if (stub->arena == binds)
		return stub->payload < BINDS ? &bound[stub->payload] : NULL;
	snprintf(name, sizeof(name), "call %u", (unsigned)stub->payload);
	return stub->payload < CALLS && !strcmp(name, stub->name) ? &called[stub->payload] : NULL;
}

static int forget(void *context, const struct flameprof_stub_record *stub)
{
	flameprof_function **place = place_of(stub);

	assert_ptr_equal(context, &visits);
	visits++;
	if (!place || *place != stub->stub)
		uninjected++;
	else if (!answer)
		*place = stub->target;
	return visits == 7 ? answer : 0;
}

static int learn(
	void *context, const struct flameprof_stub_record *stub, flameprof_function *before)
{
	flameprof_function **place = place_of(stub);

	assert_ptr_equal(context, &visits);
	visits++;
	if (!place || *place != stub->target || !before)
		uninjected++;
	else
		*place = stub->stub;
	return visits == 7 ? answer : 0;
}

static int setup(void **state)
{
	char name[32];

	(void)state;
	visits = uninjected = 0;
	answer = 0;
	if (flameprof_arena_new(&calls, FLAMEPROF_STUB_CALL, (flameprof_function *)same, NULL) ||
		flameprof_arena_new(&binds, FLAMEPROF_STUB_BIND, (flameprof_function *)same, NULL))
		return -1;
	for (unsigned i = 0; i < CALLS; i++) {
		snprintf(name, sizeof(name), "call %u", i);
		called[i] = flameprof_stub_new(calls, name, i);
	}
	for (unsigned i = 0; i < BINDS; i++)
		bound[i] = flameprof_stub_new(binds, "bind", i);
	/* A freed stub is not saved. */
	flameprof_stub_free(calls, flameprof_stub_new(calls, "gone", CALLS));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	flameprof_arena_free(calls);
	flameprof_arena_free(binds);
	return 0;
}

static int mapped_code_of_ours(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int found = 0;

	/* Count executable mappings that have no file. */
	while (maps && fgets(line, sizeof(line), maps))
		found += strstr(line, "r-xp 00000000 00:00 0 \n") != NULL;
	if (maps)
		fclose(maps);
	return found;
}

static void check_works(void)
{
	struct flameprof_code_info info;

	for (unsigned i = 0; i < CALLS; i++) {
		assert_int_equal(((uintptr_t(*)(uintptr_t))called[i])(i * 3), i * 3);
		assert_int_equal(flameprof_lookup((uintptr_t)called[i], &info), 0);
		assert_int_equal(info.payload, i);
	}
	for (unsigned i = 0; i < BINDS; i++)
		assert_int_equal(((uintptr_t(*)(void))bound[i])(), i);
	assert_int_equal(flameprof_arena_status(calls), FLAMEPROF_STUBS_WORK);
}

static void test_suspend_and_resume(void **state)
{
	struct flameprof_code_info info;
	flameprof_function *stub = called[17];
	struct flameprof_arena *late;

	(void)state;
	check_works();
	assert_int_equal(flameprof_arenas_suspend(forget, &visits), 0);
	assert_int_equal(visits, CALLS + BINDS);
	assert_int_equal(uninjected, 0);
	assert_ptr_equal(called[17], (flameprof_function *)same);
	assert_null(bound[0]);
	/* While stubs are suspended, none exist and none can be made. */
	assert_int_equal(mapped_code_of_ours(), 0);
	assert_int_equal(flameprof_lookup((uintptr_t)stub, &info), -ENOENT);
	assert_int_equal(flameprof_arena_status(calls), FLAMEPROF_STUBS_SUSPENDED);
	assert_ptr_equal(flameprof_stub_new(calls, "x", 1), (flameprof_function *)same);
	assert_null(flameprof_stub_new(binds, "x", 1));
	assert_int_equal(flameprof_arena_new(&late, FLAMEPROF_STUB_CALL,
				 (flameprof_function *)same, NULL),
		0);
	assert_int_equal(flameprof_arena_status(late), FLAMEPROF_STUBS_SUSPENDED);
	assert_int_equal(flameprof_arenas_suspend(forget, &visits), -EALREADY);

	visits = 0;
	assert_int_equal(flameprof_arenas_resume(learn, &visits), 0);
	assert_int_equal(visits, CALLS + BINDS);
	assert_int_equal(uninjected, 0);
	check_works();
	assert_ptr_not_equal(flameprof_stub_new(late, "x", 1), (flameprof_function *)same);
	flameprof_arena_free(late);
	assert_int_equal(flameprof_arenas_resume(learn, &visits), -EALREADY);
	/* Suspend and resume a second time, with the same pointers. */
	visits = 0;
	assert_int_equal(flameprof_arenas_suspend(forget, &visits), 0);
	assert_int_equal(flameprof_arenas_resume(learn, &visits), 0);
	assert_int_equal(uninjected, 0);
	check_works();
}

static void test_visits_that_end_the_walk(void **state)
{
	(void)state;
	answer = 5;
	assert_int_equal(flameprof_arenas_suspend(forget, &visits), 5);
	assert_int_equal(visits, 7);
	check_works();
	assert_int_equal(flameprof_arenas_resume(learn, &visits), -EALREADY);
	answer = 0;
	assert_int_equal(flameprof_arenas_suspend(NULL, NULL), 0);
	visits = 0;
	answer = 6;
	assert_int_equal(flameprof_arenas_resume(learn, &visits), 6);
	assert_int_equal(visits, 7);
	assert_int_equal(flameprof_arena_status(calls), FLAMEPROF_STUBS_WORK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_suspend_and_resume, setup, teardown),
		cmocka_unit_test_setup_teardown(test_visits_that_end_the_walk, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
