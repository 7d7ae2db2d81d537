/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/* Make and free stubs in large numbers: in many threads, a million in one arena, across forks. */
#include <dlfcn.h>
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

#include "libprof/flameprof_stub.h"
#include "libprof/trampoline/arena.h"
#include "tests/unit/in-child.h"

typedef uintptr_t identity(uintptr_t);

static __attribute__((noinline)) uintptr_t same(uintptr_t value)
{
	return value;
}

#define SAME ((flameprof_function *)same)

static uintptr_t call(flameprof_function *stub, uintptr_t value)
{
	return ((identity *)stub)(value);
}

static struct flameprof_arena *new_arena(enum flameprof_stub_kind kind)
{
	struct flameprof_arena *arena;

	assert_int_equal(flameprof_arena_new(&arena, kind, SAME, NULL), 0);
	return arena;
}

/* Check that flameprof_lookup() finds the stub from every byte of its code. */
static void check_stub(flameprof_function *stub, const char *name, uintptr_t payload)
{
	struct flameprof_code_info info;

	assert_int_equal(flameprof_lookup((uintptr_t)stub, &info), 0);
	assert_int_equal(info.start, (uintptr_t)stub);
	assert_string_equal(info.name, name);
	assert_int_equal(info.payload, payload);
	assert_int_equal(info.kind, FLAMEPROF_CODE_CALL_STUB);
	assert_int_equal(flameprof_lookup((uintptr_t)stub + info.bytes - 1, &info), 0);
	assert_int_equal(info.start, (uintptr_t)stub);
}

static void test_freed_stubs_are_unknown_and_used_again(void **state)
{
	struct flameprof_arena *arena = new_arena(FLAMEPROF_STUB_CALL);
	struct flameprof_code_info info;
	flameprof_function *first = flameprof_stub_new(arena, "first", 1);
	flameprof_function *second = flameprof_stub_new(arena, "second", 2);

	(void)state;
	check_stub(first, "first", 1);
	check_stub(second, "second", 2);
	flameprof_stub_free(arena, first);
	assert_int_equal(flameprof_lookup((uintptr_t)first, &info), -ENOENT);
	check_stub(second, "second", 2);
	assert_ptr_equal(flameprof_stub_new(arena, "third, with a longer name than the first", 3),
		first);
	check_stub(first, "third, with a longer name than the first", 3);
	assert_int_equal(call(first, 7), 7);
	flameprof_arena_free(arena);
	assert_int_equal(flameprof_lookup((uintptr_t)second, &info), -ENOENT);
}

static void test_frees_of_what_is_no_stub(void **state)
{
	struct flameprof_arena *arena = new_arena(FLAMEPROF_STUB_CALL);
	struct flameprof_arena *other = new_arena(FLAMEPROF_STUB_CALL);
	flameprof_function *stub = flameprof_stub_new(arena, "s", 1);
	flameprof_function *next;

	(void)state;
	flameprof_stub_free(arena, NULL);
	flameprof_stub_free(arena, SAME);
	flameprof_stub_free(arena, (flameprof_function *)test_frees_of_what_is_no_stub);
	flameprof_stub_free(arena, (flameprof_function *)((uintptr_t)stub + 1));
	flameprof_stub_free(other, stub);
	check_stub(stub, "s", 1);
	flameprof_stub_free(arena, stub);
	flameprof_stub_free(arena, stub);
	/*
	 * A double free must not put the slot (one stub's memory) into the list of free slots
	 * twice.
	 */
	next = flameprof_stub_new(arena, "t", 2);
	assert_ptr_equal(next, stub);
	assert_ptr_not_equal(flameprof_stub_new(arena, "u", 3), stub);
	flameprof_arena_free(arena);
	flameprof_arena_free(other);
}

static void test_names(void **state)
{
	struct flameprof_arena *arena = new_arena(FLAMEPROF_STUB_CALL);
	struct flameprof_code_info info;
	flameprof_function *stub;
	char name[FLAMEPROF_NAME_BYTES + 100];

	(void)state;
	check_stub(flameprof_stub_new(arena, NULL, 0), "[anonymous]", 0);
	check_stub(flameprof_stub_new(arena, "", 0), "[anonymous]", 0);
	check_stub(flameprof_stub_new(arena, "(setf x); \n\xff", 0), "(setf x); \n\xff", 0);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	stub = flameprof_stub_new(arena, name, 0);
	memset(name, 'x', sizeof(name) - 1); /* the arena has its own copy */
	assert_int_equal(flameprof_lookup((uintptr_t)stub, &info), 0);
	assert_int_equal(strlen(info.name), FLAMEPROF_NAME_BYTES);
	assert_int_equal(info.name[FLAMEPROF_NAME_BYTES - 1], 'n');
	flameprof_arena_free(arena);
}

/* The library of the stubs' target is unloaded. The stubs can still be looked up and freed. */
static void test_target_that_is_unloaded(void **state)
{
	void *library = dlopen("libBrokenLocale.so.1", RTLD_NOW);
	flameprof_function *target =
		library ? (flameprof_function *)dlsym(library, "__ctype_get_mb_cur_max") : NULL;
	struct flameprof_code_info info;
	struct flameprof_arena *arena;
	flameprof_function *stub;
	Dl_info gone;

	(void)state;
	if (!target)
		skip();
	assert_int_equal(flameprof_arena_new(&arena, FLAMEPROF_STUB_CALL, target, NULL), 0);
	stub = flameprof_stub_new(arena, "of a library", 9);
	assert_int_equal(((size_t(*)(void))stub)(), 1);
	dlclose(library);
	assert_int_equal(dladdr((void *)target, &gone), 0);
	check_stub(stub, "of a library", 9);
	flameprof_stub_free(arena, stub);
	assert_ptr_equal(flameprof_stub_new(arena, "another", 1), stub);
	flameprof_arena_free(arena);
	assert_int_equal(flameprof_lookup((uintptr_t)stub, &info), -ENOENT);
	/* A new arena for a loaded target is placed near that target. */
	arena = new_arena(FLAMEPROF_STUB_CALL);
	assert_int_equal(call(flameprof_stub_new(arena, "s", 0), 3), 3);
	flameprof_arena_free(arena);
}

#define MANY 1000000u

static void test_a_million_stubs(void **state)
{
	struct flameprof_arena *arena = new_arena(FLAMEPROF_STUB_CALL);
	/* The test is slow in qemu. */
	uint32_t many = getenv("TEST_EMULATED") ? MANY / 20 : MANY;
	flameprof_function **stubs = malloc(many * sizeof(*stubs));
	char name[32];

	(void)state;
	for (uint32_t i = 0; i < many; i++) {
		snprintf(name, sizeof(name), "function %u", i);
		stubs[i] = flameprof_stub_new(arena, name, i);
		assert_ptr_not_equal(stubs[i], SAME);
	}
	assert_int_equal(flameprof_arena_status(arena), FLAMEPROF_STUBS_WORK);
	for (uint32_t i = 0; i < many; i += 997) {
		snprintf(name, sizeof(name), "function %u", i);
		check_stub(stubs[i], name, i);
		assert_int_equal(call(stubs[i], i), i);
	}
	for (uint32_t i = 0; i < many; i++)
		flameprof_stub_free(arena, stubs[i]);
	/* All slots are reused, each once. */
	for (uint32_t i = many; i-- > 0;)
		assert_ptr_equal(flameprof_stub_new(arena, "again", 0), stubs[i]);
	free(stubs);
	flameprof_arena_free(arena);
}

#define THREADS 16
#define HELD    100

static struct flameprof_arena *shared;

/*
 * Make stubs and free them in many threads. A stub belongs to the thread that made it: its payload
 * and name must stay until this thread frees it.
 */
static void *make_and_free(void *argument)
{
	uintptr_t number = (uintptr_t)argument;
	unsigned rounds = getenv("TEST_EMULATED") ? 5 : 100;
	flameprof_function *held[HELD];
	struct flameprof_code_info info;
	uintptr_t wrong = 0;
	char name[32];

	for (unsigned round = 0; round < rounds; round++) {
		for (uintptr_t i = 0; i < HELD; i++) {
			snprintf(name, sizeof(name), "%lu/%u/%lu", number, round, i);
			held[i] = flameprof_stub_new(shared, name, number << 32 | i);
		}
		for (uintptr_t i = 0; i < HELD; i++) {
			snprintf(name, sizeof(name), "%lu/%u/%lu", number, round, i);
			wrong += call(held[i], i) != i;
			wrong += flameprof_lookup((uintptr_t)held[i], &info) ||
				 info.payload != (number << 32 | i) || strcmp(info.name, name);
		}
		for (unsigned i = 0; i < HELD; i++)
			flameprof_stub_free(shared, held[i]);
	}
	return (void *)wrong;
}

static void test_threads(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	shared = new_arena(FLAMEPROF_STUB_CALL);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, make_and_free, (void *)i), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	flameprof_arena_free(shared);
}

/*
 * The head of the list of free slots must not have the same value twice for the same first slot,
 * because a stale compare-and-swap would then succeed.
 */
static void test_list_of_freed_slots_counts_its_changes(void **state)
{
	struct flameprof_arena *arena = new_arena(FLAMEPROF_STUB_CALL);
	flameprof_function *stub = flameprof_stub_new(arena, "s", 0);
	uint64_t before, between, after;

	(void)state;
	flameprof_stub_free(arena, stub);
	before = arena->free_list;
	assert_ptr_equal(flameprof_stub_new(arena, "s", 0), stub);
	between = arena->free_list;
	flameprof_stub_free(arena, stub);
	after = arena->free_list;
	assert_int_equal((uint32_t)before, (uint32_t)after);
	assert_true(before != after);
	assert_int_equal((uint32_t)between, 0);
	assert_true(between >> 32 != before >> 32 && between >> 32 != after >> 32);
	flameprof_arena_free(arena);
}

/*
 * Claim two slots and free them in either order, so that the list's first slot often stays while
 * its second changes. No other thread may claim a slot that is claimed.
 */
static void *take_two(void *argument)
{
	unsigned rounds = getenv("TEST_EMULATED") ? 500 : 100000;
	uintptr_t mine = (uintptr_t)argument << 32, wrong = 0;

	for (unsigned round = 0; round < rounds; round++) {
		flameprof_function *one = flameprof_stub_new(shared, "s", mine | 1);
		flameprof_function *two = flameprof_stub_new(shared, "s", mine | 2);
		struct flameprof_code_info info;

		wrong += flameprof_lookup((uintptr_t)one, &info) || info.payload != (mine | 1);
		wrong += flameprof_lookup((uintptr_t)two, &info) || info.payload != (mine | 2);
		flameprof_stub_free(shared, round % 2 ? one : two);
		flameprof_stub_free(shared, round % 2 ? two : one);
	}
	return (void *)wrong;
}

static void test_threads_that_take_turns(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	shared = new_arena(FLAMEPROF_STUB_CALL);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_two, (void *)i), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	flameprof_arena_free(shared);
}

/*
 * Make and free arenas while other threads look up addresses: freed stubs must not be found, live
 * stubs must.
 */
static void *make_arenas(void *argument)
{
	unsigned rounds = getenv("TEST_EMULATED") ? 10 : 200;
	uintptr_t wrong = 0;

	(void)argument;
	for (unsigned round = 0; round < rounds; round++) {
		struct flameprof_arena *arena;
		flameprof_function *stub;
		struct flameprof_code_info info;

		flameprof_arena_new(&arena, FLAMEPROF_STUB_CALL, SAME, NULL);
		stub = flameprof_stub_new(arena, "short", round);
		wrong += call(stub, round) != round || flameprof_lookup((uintptr_t)stub, &info) ||
			 info.payload != round;
		flameprof_arena_free(arena);
	}
	return (void *)wrong;
}

static void test_arenas_of_many_threads(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, make_arenas, NULL), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
}

static struct flameprof_arena *inherited;
static flameprof_function *inherited_stub;

static int use_inherited(void)
{
	struct flameprof_code_info info;
	flameprof_function *stub = flameprof_stub_new(inherited, "child's", 5);

	if (call(inherited_stub, 3) != 3 || flameprof_lookup((uintptr_t)inherited_stub, &info) ||
		strcmp(info.name, "parent's"))
		return 1;
	if (stub == SAME || call(stub, 4) != 4 || flameprof_lookup((uintptr_t)stub, &info) ||
		strcmp(info.name, "child's"))
		return 2;
	flameprof_stub_free(inherited, inherited_stub);
	flameprof_arena_free(inherited);
	return 0;
}

static int stop_making; /* atomic */

static void *make_until_told(void *argument)
{
	while (!__atomic_load_n(&stop_making, __ATOMIC_RELAXED))
		make_arenas(argument);
	return NULL;
}

static void test_fork(void **state)
{
	unsigned forks = getenv("TEST_EMULATED") ? 3 : 100;
	pthread_t threads[2];

	(void)state;
	inherited = new_arena(FLAMEPROF_STUB_CALL);
	inherited_stub = flameprof_stub_new(inherited, "parent's", 1);
	__atomic_store_n(&stop_making, 0, __ATOMIC_RELAXED);
	/* Keep the locks busy. */
	for (unsigned i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, make_until_told, NULL);
	for (unsigned i = 0; i < forks; i++)
		assert_int_equal(in_child(use_inherited), 0);
	__atomic_store_n(&stop_making, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	check_stub(inherited_stub, "parent's", 1);
	flameprof_arena_free(inherited);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_freed_stubs_are_unknown_and_used_again),
		cmocka_unit_test(test_frees_of_what_is_no_stub),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_target_that_is_unloaded),
		cmocka_unit_test(test_a_million_stubs),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_list_of_freed_slots_counts_its_changes),
		cmocka_unit_test(test_threads_that_take_turns),
		cmocka_unit_test(test_arenas_of_many_threads),
		cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
