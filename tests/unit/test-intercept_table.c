/* SPDX-License-Identifier: MIT */
/* Checked also: threads, emulated. */
/*
 * Put stubs into tables of function pointers and remove them: in place, in copies of read-only
 * tables, repeatedly, and while a stub runs. If one entry is refused, the table stays unchanged.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libprof/sanitizers.h"
#include "tests/unit/deny.h"
#include "tests/unit/in-child.h"
#include "tests/unit/intercept-fixture.h"

#define N 6u

typedef unsigned entry(unsigned);

#define DEFINE(name, number)                                                                       \
	static __attribute__((noinline)) unsigned name(unsigned a)                                 \
	{                                                                                          \
		return a + number;                                                                 \
	}
DEFINE(one, 1)
DEFINE(two, 2)
DEFINE(three, 3)

#define ENTRY(name) ((flameprof_function *)(name))

/* The table has one function twice with two names, one function without a name, and a NULL. */
static flameprof_function *const originals[N] = {
	ENTRY(one), ENTRY(two), ENTRY(two), NULL, ENTRY(three), ENTRY(three)};
static const char *const names[N] = {"one", "two/1", "two/2", "hole", NULL, "shared"};
static const struct flameprof_signature signatures[N] = {[1] = {.stack_words = 2}};
#define REPLACED 4

static flameprof_function *space[N];

static flameprof_function **fresh(void)
{
	memcpy(space, originals, sizeof(space));
	return space;
}

static void skip_if_denied(void)
{
	fixture_stub(ENTRY(one), "one", 0);
}

static void check_replaced(flameprof_function *const *table)
{
	static const unsigned adds[N] = {1, 2, 2, 0, 3, 3};

	for (unsigned i = 0; i < N; i++) {
		if (!originals[i])
			assert_null(table[i]);
		else
			assert_int_equal(((entry *)table[i])(10), 10 + adds[i]);
		assert_ptr_equal(flameprof_intercept_original(table[i]), originals[i]);
		assert_int_equal(table[i] != originals[i], names[i] && originals[i]);
	}
	assert_ptr_not_equal(table[1], table[2]);
}

static void test_in_place(void **state)
{
	flameprof_function **table = fresh(), *stubs[N];

	(void)state;
	skip_if_denied();
	assert_int_equal(flameprof_intercept_table(&table, N, names, signatures), REPLACED);
	assert_ptr_equal(table, space);
	check_replaced(table);
	memcpy(stubs, table, sizeof(stubs));
	/* Everything is replaced already. */
	assert_int_equal(flameprof_intercept_table(&table, N, names, signatures), 0);
	assert_memory_equal(table, stubs, sizeof(stubs));
	/* The host has set some entries again. */
	table[0] = originals[0];
	table[5] = ENTRY(one);
	assert_int_equal(flameprof_intercept_table(&table, N, names, signatures), 2);
	assert_ptr_equal(table[0], stubs[0]);
	assert_ptr_equal(flameprof_intercept_original(table[5]), ENTRY(one));
	table[5] = stubs[5];

	assert_int_equal(flameprof_intercept_restore(&table, N), REPLACED);
	assert_memory_equal(space, originals, sizeof(space));
	assert_int_equal(flameprof_intercept_restore(&table, N), 0);
	/* The existing stubs are used again. */
	assert_int_equal(flameprof_intercept_table(&table, N, names, signatures), REPLACED);
	assert_memory_equal(table, stubs, sizeof(stubs));
	flameprof_intercept_restore(&table, N);
}

/* A table on its own read-only page. */
static flameprof_function **read_only(size_t offset)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(page, MAP_FAILED);
	memcpy(page + offset, originals, sizeof(originals));
	return (flameprof_function **)(page + offset);
}

static void test_a_copy_of_what_is_read_only(void **state)
{
	flameprof_function **table = (flameprof_function **)originals, **copy;

	(void)state;
	skip_if_denied();
	assert_int_equal(flameprof_intercept_table(&table, N, names, signatures), REPLACED);
	assert_ptr_not_equal(table, originals);
	check_replaced(table);
	copy = table;
	/* The copy is writable. */
	table[0] = originals[0];
	assert_int_equal(flameprof_intercept_table(&table, N, names, signatures), 1);
	assert_ptr_equal(table, copy);
	check_replaced(table);
	assert_int_equal(flameprof_intercept_restore(&table, N - 1), -EINVAL);
	assert_ptr_equal(table, copy);
	assert_int_equal(flameprof_intercept_restore(&table, N), REPLACED);
	assert_ptr_equal(table, originals);
	assert_int_equal(flameprof_intercept_restore(&table, N), 0);
}

static void test_one_copy_for_all(void **state)
{
	flameprof_function **first = (flameprof_function **)originals, **second = first;
	flameprof_function **fewer = first, **copy;

	(void)state;
	skip_if_denied();
	assert_int_equal(flameprof_intercept_table(&first, N, names, signatures), REPLACED);
	copy = first;
	for (int i = 0; i < 3; i++) {
		second = (flameprof_function **)originals;
		assert_int_equal(
			flameprof_intercept_table(&second, N, names, signatures), REPLACED);
		assert_ptr_equal(second, copy);
	}
	/* A table of the same address but another size gets its own copy. */
	assert_int_equal(flameprof_intercept_table(&fewer, 2, names, signatures), 2);
	assert_ptr_not_equal(fewer, copy);
	assert_int_equal(flameprof_intercept_restore(&fewer, 2), 2);
	for (int i = 0; i < 3; i++) {
		second = copy;
		assert_int_equal(flameprof_intercept_restore(&second, N), REPLACED);
		check_replaced(first);
	}
	assert_int_equal(flameprof_intercept_restore(&first, N), REPLACED);
	assert_ptr_equal(first, originals);
}

/*
 * A read-only table that was already copied has new contents: the stubs must call the new
 * functions.
 */
static void test_a_rebuilt_read_only_table(void **state)
{
	flameprof_function **source = read_only(0), **table = source;

	(void)state;
	skip_if_denied();
	assert_int_equal(mprotect(source, 8192, PROT_READ), 0);
	assert_int_equal(flameprof_intercept_table(&table, N, names, signatures), REPLACED);
	assert_int_equal(mprotect(source, 8192, PROT_READ | PROT_WRITE), 0);
	source[0] = ENTRY(three);
	assert_int_equal(mprotect(source, 8192, PROT_READ), 0);
	table = source;
	assert_int_equal(flameprof_intercept_table(&table, N, names, signatures), REPLACED);
	assert_int_equal(((entry *)table[0])(10), 13);
	assert_ptr_equal(flameprof_intercept_original(table[0]), ENTRY(three));
	flameprof_intercept_restore(&table, N);
	munmap(source, 8192);
}

/*
 * Put stubs into tables that span two pages, then restore the tables. Only one of the pages is
 * writable, or the table ends at an unmapped page.
 */
static void test_tables_across_pages(void **state)
{
	flameprof_function **table, **source = read_only(4096 - 3 * sizeof(*source));
	char *page = (char *)(source + 3) - 4096;

	(void)state;
	skip_if_denied();
	for (int half = 0; half < 2; half++) {
		assert_int_equal(mprotect(page + 4096 * half, 4096, PROT_READ), 0);
		table = source;
		assert_int_equal(flameprof_intercept_table(&table, N, names, NULL), REPLACED);
		assert_ptr_not_equal(table, source);
		assert_memory_equal(source, originals, sizeof(originals));
		assert_int_equal(flameprof_intercept_restore(&table, N), REPLACED);
		assert_int_equal(mprotect(page, 8192, PROT_READ | PROT_WRITE), 0);
	}
	/* Both pages of the table are one writable mapping, so the stubs are written in place. */
	table = source;
	assert_int_equal(flameprof_intercept_table(&table, N, names, NULL), REPLACED);
	assert_ptr_equal(table, source);
	/* The table is read-only now, so restoring fails and changes nothing. */
	assert_int_equal(mprotect(page, 4096, PROT_READ), 0);
	assert_int_equal(flameprof_intercept_restore(&table, N), -EACCES);
	check_replaced(table);
	assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(flameprof_intercept_restore(&table, N), REPLACED);
	munmap(page, 8192);
}

static void test_what_cannot_be(void **state)
{
	struct flameprof_signature bad[N] = {[5] = {.stack_words = 65}};
	flameprof_function **table = fresh(), **none = NULL;

	(void)state;
	assert_int_equal(flameprof_intercept_table(&table, N, names, bad), -EINVAL);
	assert_memory_equal(space, originals, sizeof(space));
	assert_int_equal(flameprof_intercept_table(&none, N, names, NULL), -EINVAL);
	assert_int_equal(flameprof_intercept_table(NULL, N, names, NULL), -EINVAL);
	assert_int_equal(flameprof_intercept_table(&table, N, NULL, NULL), -EINVAL);
	assert_int_equal(flameprof_intercept_table(&table, (size_t)1 << 40, names, NULL), -EINVAL);
	assert_int_equal(flameprof_intercept_table(&none, 0, NULL, NULL), 0);
	assert_int_equal(flameprof_intercept_restore(&none, 0), 0);
	assert_int_equal(flameprof_intercept_restore(&none, N), -EINVAL);
}

static flameprof_function **inside;

static __attribute__((noinline)) unsigned restores(unsigned a)
{
	assert_int_equal(flameprof_intercept_restore(&inside, 1), 1);
	assert_ptr_equal(inside[0], ENTRY(restores));
	raise_ticks(1);
	return a + 100;
}

/*
 * Restore the table while a call through a stub runs. The call must still return through the stub's
 * check.
 */
static void test_restored_with_a_frame_inside(void **state)
{
	static flameprof_function *writable[1] = {ENTRY(restores)};
	static flameprof_function *const constant[1] = {ENTRY(restores)};
	static const char *const name[1] = {"restores"};

	(void)state;
	skip_if_denied();
	for (int copied = 0; copied < 2; copied++) {
		inside = copied ? (flameprof_function **)constant : writable;
		fixture_begin(NULL);
		assert_int_equal(flameprof_intercept_table(&inside, 1, name, NULL), 1);
		assert_int_equal(((entry *)inside[0])(5), 105);
		assert_int_equal(checks, 1);
	}
}

static void *change_on(void *argument)
{
	flameprof_function **table = space;

	while (!__atomic_load_n((int *)argument, __ATOMIC_RELAXED)) {
		flameprof_intercept_table(&table, N, names, NULL);
		flameprof_intercept_restore(&table, N);
	}
	return NULL;
}

/* Call functions through a table while another thread changes its entries. */
static void test_calls_meanwhile(void **state)
{
	flameprof_function **table = fresh();
	pthread_t thread;
	int end = 0;

	(void)state;
	skip_if_denied();
	assert_int_equal(pthread_create(&thread, NULL, change_on, &end), 0);
	for (unsigned i = 0; i < 200000; i++) {
		entry *function = (entry *)__atomic_load_n(&table[i % 3], __ATOMIC_ACQUIRE);

		assert_int_equal(function(i), i + (i % 3 ? 2 : 1));
	}
	__atomic_store_n(&end, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static int run_denied(void)
{
	flameprof_function **table = fresh();
	flameprof_function **constant = (flameprof_function **)originals;

	if (deny_executable(1))
		return CANNOT;
	for (int again = 0; again < 2; again++) {
		if (flameprof_intercept_table(&table, N, names, signatures) != -EACCES ||
			flameprof_intercept_table(&constant, N, names, signatures) != -EACCES)
			return 1;
		if (flameprof_intercept_status() != FLAMEPROF_STUBS_DENIED)
			return 2;
		if (table != space || memcmp(space, originals, sizeof(space)) ||
			constant != (flameprof_function **)originals)
			return 3;
	}
	if (flameprof_intercept(ENTRY(one), "one", NULL) != ENTRY(one))
		return 4;
	/* A table of NULLs needs no stub, so it is not refused. */
	memset(space, 0, sizeof(space));
	return flameprof_intercept_table(&table, N, names, signatures) ? 5 : 0;
}

static int run_in_memfd(void)
{
	flameprof_function **table = fresh();
	static char more[128];
	const char *const new_names[N] = {more, more, more, more, more, more};

	/* Use new names, because this process also has the stubs of its parent. */
	strcpy(more, "in a memfd");
	if (deny_executable(0))
		return CANNOT;
	if (flameprof_intercept_table(&table, N, new_names, NULL) != N - 1)
		return 1;
	return ((entry *)table[0])(1) == 2 ? 0 : 2;
}

/*
 * Run in a child that is forked before any stub is made, because an arena keeps the status of its
 * first failure.
 */
static void test_denied(void **state)
{
	(void)state;
	check_in_child(run_denied);
}

static void test_memfd(void **state)
{
	(void)state;
	check_in_child(run_in_memfd);
}

/* ---- memory ---------------------------------------------------------------------------------- */

#if defined(__GLIBC__) && !UNDER_ASAN && !UNDER_TSAN

/* countdown to the allocation that fails: 1 is the next; 0: none fails */
static unsigned fail_in;
static unsigned failed;

static int fails(void)
{
	if (!fail_in || --fail_in)
		return 0;
	failed++;
	errno = ENOMEM;
	return 1;
}

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t);

/* Replace libc's malloc() in the whole program. */
void *malloc(size_t bytes)
{
	return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
	return fails() ? NULL : __libc_calloc(n, bytes);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	long answer;

	if (fails())
		return MAP_FAILED;
	answer = syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
	return answer == -1 ? MAP_FAILED : (void *)answer;
}

/*
 * Put stubs into the table while the allocation number @nth fails. Returns 1 if there were that
 * many allocations.
 */
static int try_with_failure(unsigned nth, flameprof_function **table, unsigned words)
{
	struct flameprof_signature with_words[N];
	flameprof_function **given = table;
	/* Names longer than all before, so that memory must be allocated for them. */
	static char lengthy[N][4000];
	const char *const long_names[N] = {lengthy[0], lengthy[1], lengthy[2], lengthy[3],
		lengthy[4], lengthy[5]};
	int answer;

	for (unsigned i = 0; i < N; i++) {
		memset(lengthy[i], 'a' + (int)i, sizeof(lengthy[i]) - 1);
		snprintf(lengthy[i] + 3900, 90, "%u of %u", nth, words);
		with_words[i] = (struct flameprof_signature){.stack_words = words};
	}
	failed = 0;
	fail_in = nth;
	answer = flameprof_intercept_table(&given, N, long_names, with_words);
	fail_in = 0;
	if (!failed) {
		assert_int_equal(answer, N - 1);
		assert_int_equal(flameprof_intercept_restore(&given, N), N - 1);
	} else if (answer != -ENOMEM) {
		/* The stubs could be made in spite of the failed allocation. */
		assert_int_equal(answer, N - 1);
		assert_int_equal(flameprof_intercept_status(), FLAMEPROF_STUBS_WORK);
		assert_int_equal(flameprof_intercept_restore(&given, N), N - 1);
	}
	assert_ptr_equal(given, table);
	assert_memory_equal(table, originals, sizeof(originals));
	return failed != 0;
}

/* Use a new number of stack words in each round, so that new arenas are made. */
static void test_every_failing_allocation(void **state)
{
	flameprof_function **tables[2] = {fresh(), (flameprof_function **)originals};
	unsigned words = 3, nth;

	(void)state;
	skip_if_denied();
	for (unsigned i = 0; i < 2; i++) {
		for (nth = 1; nth < 500 && try_with_failure(nth, tables[i], words); nth++)
			words += words < 64;
		assert_in_range(nth, 5, 499);
		assert_true(words < 64);
	}
}

#else

static void test_every_failing_allocation(void **state)
{
	(void)state;
	skip();
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_denied),
		cmocka_unit_test(test_memfd),
		cmocka_unit_test(test_in_place),
		cmocka_unit_test(test_a_copy_of_what_is_read_only),
		cmocka_unit_test(test_one_copy_for_all),
		cmocka_unit_test(test_a_rebuilt_read_only_table),
		cmocka_unit_test(test_tables_across_pages),
		cmocka_unit_test(test_what_cannot_be),
		cmocka_unit_test(test_restored_with_a_frame_inside),
		cmocka_unit_test(test_calls_meanwhile),
		cmocka_unit_test(test_every_failing_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
