/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * The first system call of a walk reads the memory windows that the thread's last two walks used.
 */
#include "libprof/runtime/runtime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE	4096u
#define PLACES	6u
#define A_PLACE (PAGE + 8) /* each in a page of its own */

struct fixture {
	char *memory;
	struct runtime_room room;
	struct runtime_again again;
	struct runtime_reader reader;
};

static uintptr_t place(const struct fixture *fixture, unsigned n)
{
	return (uintptr_t)fixture->memory + n * A_PLACE;
}

static void begin_walk(struct fixture *fixture)
{
	runtime_reader_init(&fixture->reader, getpid(), 1);
	fixture->reader.again = &fixture->again;
	runtime_lend(&fixture->reader, &fixture->room);
}

static void assert_reads(struct fixture *fixture, unsigned n)
{
	uintptr_t value;

	assert_int_equal(runtime_load_word(&fixture->reader, place(fixture, n), &value), 0);
	assert_int_equal(value, n + 1);
}

static void end_walk(struct fixture *fixture)
{
	runtime_note_again(&fixture->reader);
	fixture->reader.room = NULL;
}

static int has(struct fixture *fixture, unsigned n)
{
	return runtime_has(&fixture->reader, place(fixture, n), sizeof(uintptr_t));
}

static void walk_all(struct fixture *fixture)
{
	begin_walk(fixture);
	for (unsigned n = 0; n < PLACES; n++)
		assert_reads(fixture, n);
	end_walk(fixture);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->memory = mmap(NULL, (PLACES + 1) * PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (unsigned n = 0; n < PLACES; n++)
		*(uintptr_t *)place(fixture, n) = n + 1;
	walk_all(fixture);
	walk_all(fixture);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	munmap(fixture->memory, (PLACES + 1) * PAGE);
	free(fixture);
	return 0;
}

static void test_all_is_read_with_the_first(void **state)
{
	struct fixture *fixture = *state;

	begin_walk(fixture);
	for (unsigned n = 0; n < PLACES; n++)
		assert_false(has(fixture, n));
	assert_reads(fixture, 3);
	for (unsigned n = 0; n < PLACES; n++)
		assert_true(has(fixture, n));
	for (unsigned n = 0; n < PLACES; n++)
		assert_reads(fixture, n);
}

/* Memory that changed between two walks is read again. */
static void test_what_has_changed(void **state)
{
	struct fixture *fixture = *state;
	uintptr_t value;

	*(uintptr_t *)place(fixture, 4) = 77;
	begin_walk(fixture);
	assert_reads(fixture, 0);
	assert_true(has(fixture, 4));
	assert_int_equal(runtime_load_word(&fixture->reader, place(fixture, 4), &value), 0);
	assert_int_equal(value, 77);
}

static void test_what_nobody_asks_for_is_forgotten(void **state)
{
	struct fixture *fixture = *state;

	begin_walk(fixture);
	assert_reads(fixture, 0);
	assert_reads(fixture, 5);
	end_walk(fixture);
	begin_walk(fixture);
	assert_reads(fixture, 0);
	assert_true(has(fixture, 5));
	assert_false(has(fixture, 2));
}

static void test_what_one_walk_alone_asked_for(void **state)
{
	struct fixture *fixture = *state;

	fixture->again.count = fixture->again.new_count = 0;
	walk_all(fixture);
	begin_walk(fixture);
	assert_reads(fixture, 0);
	assert_reads(fixture, 4);
	assert_false(has(fixture, 2));
	end_walk(fixture);
	begin_walk(fixture);
	assert_reads(fixture, 4);
	assert_true(has(fixture, 0));
	assert_false(has(fixture, 2));
}

/* A walk that loads nothing does not change which windows the next walk reads first. */
static void test_a_walk_that_asks_for_nothing(void **state)
{
	struct fixture *fixture = *state;

	begin_walk(fixture);
	end_walk(fixture);
	begin_walk(fixture);
	assert_reads(fixture, 1);
	assert_true(has(fixture, 5));
}

/*
 * If a window's memory was unmapped, the windows behind it in the list are read only when they are
 * needed.
 */
static void test_what_is_gone(void **state)
{
	struct fixture *fixture = *state;
	uintptr_t value;

	munmap((char *)(place(fixture, 2) & ~(uintptr_t)(PAGE - 1)), PAGE);
	begin_walk(fixture);
	assert_reads(fixture, 4);
	assert_false(has(fixture, 2));
	assert_int_not_equal(runtime_load_word(&fixture->reader, place(fixture, 2), &value), 0);
	for (unsigned n = 0; n < PLACES; n++)
		if (n != 2)
			assert_reads(fixture, n);
}

static void test_what_was_read_ahead(void **state)
{
	struct fixture *fixture = *state;
	uintptr_t places[] = {place(fixture, 1), place(fixture, 2), place(fixture, 3)};

	fixture->again.count = fixture->again.new_count = 0;
	for (unsigned walk = 0; walk < 2; walk++) {
		begin_walk(fixture);
		runtime_expect_each(&fixture->reader, places, 3);
		assert_true(has(fixture, 3));
		end_walk(fixture);
	}
	begin_walk(fixture);
	assert_reads(fixture, 0);
	for (unsigned n = 1; n <= 3; n++)
		assert_true(has(fixture, n));
	/* The words have been read already, so nothing is read from the unmapped page. */
	munmap(fixture->memory + 2 * PAGE, PAGE);
	runtime_expect_each(&fixture->reader, places, 3);
	assert_true(has(fixture, 2));
}

/* If the first loads of a walk fail, the first load that succeeds still reads the windows. */
static void test_what_is_no_address(void **state)
{
	static const uintptr_t none[] = {8, 4088, 0xf000000000000000, UINTPTR_MAX - 8};
	struct fixture *fixture = *state;
	uintptr_t value;

	begin_walk(fixture);
	for (unsigned i = 0; i < sizeof(none) / sizeof(*none); i++)
		assert_int_not_equal(runtime_load_word(&fixture->reader, none[i], &value), 0);
	munmap(fixture->memory + PLACES * PAGE, PAGE);
	assert_int_not_equal(
		runtime_load_word(&fixture->reader, place(fixture, PLACES), &value), 0);
	assert_reads(fixture, 1);
	assert_true(has(fixture, 5));
}

/*
 * runtime_expect_run() reads a range by one system call, so a word that changes afterwards has its
 * old value.
 */
static void test_what_lies_together(void **state)
{
	struct fixture *fixture = *state;
	uintptr_t start = (uintptr_t)fixture->memory, value;

	fixture->again.count = 0;
	*(uintptr_t *)(start + PAGE - 16) = 55;
	begin_walk(fixture);
	runtime_expect_run(&fixture->reader, start + 600, 2 * PAGE);
	assert_true(runtime_has(&fixture->reader, start + 600, sizeof(value)));
	*(uintptr_t *)(start + PAGE - 16) = 66;
	assert_int_equal(runtime_load_word(&fixture->reader, start + PAGE - 16, &value), 0);
	assert_int_equal(value, 55);
	/* The range has at most RUNTIME_RUN windows, and no memory in front of it is read. */
	assert_true(runtime_has(&fixture->reader, start + 512 * RUNTIME_RUN, 512));
	assert_false(runtime_has(&fixture->reader, start + 512 * (RUNTIME_RUN + 1), 1));
	assert_false(runtime_has(&fixture->reader, start, 1));
}

/* If the range ends in unmapped memory, the part before it is read. */
static void test_what_ends_in_the_middle(void **state)
{
	struct fixture *fixture = *state;
	uintptr_t start = (uintptr_t)fixture->memory, value;

	fixture->again.count = 0;
	munmap(fixture->memory + PAGE, PAGE);
	begin_walk(fixture);
	runtime_expect_run(&fixture->reader, start + 2048, PAGE);
	assert_true(runtime_has(&fixture->reader, start + PAGE - 512, 512));
	assert_int_not_equal(runtime_load_word(&fixture->reader, start + PAGE, &value), 0);
	assert_reads(fixture, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_all_is_read_with_the_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_has_changed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_what_nobody_asks_for_is_forgotten, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_what_one_walk_alone_asked_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_a_walk_that_asks_for_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_lies_together, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_ends_in_the_middle, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_gone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_was_read_ahead, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_no_address, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
