/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/*
 * Compare the hash table of share/examples/lua, which maps functions to stubs, with a simple list.
 */
#include "share/examples/lua/stub_table.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define ADDRESSES 3000
#define ROUNDS	  400000

static const struct lua_proto *address(size_t index)
{
	/* Return addresses such as an allocator's; index 0 must not become NULL. */
	return (const struct lua_proto *)((index + 1) * 128);
}

/* Check that the table has exactly the entries of the list. */
static void check(const struct stub_table *table, char *const *there)
{
	size_t used = 0;

	for (size_t i = 0; i < ADDRESSES; i++) {
		const struct stub *stub = stub_table_find(table, address(i));

		if (!there[i]) {
			assert_null(stub);
			continue;
		}
		used++;
		assert_non_null(stub);
		assert_ptr_equal(stub->name, there[i]);
	}
	assert_int_equal(table->used, used);
	/* The used slots of the table are exactly the entries. */
	for (size_t i = 0; i <= table->mask; i++)
		used -= table->places[i].proto != NULL;
	assert_int_equal(used, 0);
}

static void test_as_a_list(void **state)
{
	static char *there[ADDRESSES];
	static char names[ROUNDS];
	struct stub_table table;
	uint64_t random = 88172645463325252ULL;

	(void)state;
	assert_int_equal(stub_table_init(&table), 0);
	for (size_t round = 0; round < ROUNDS; round++) {
		/*
		 * The rounds alternate between half full and almost empty, so that the table grows
		 * and clusters break up.
		 */
		size_t span = round / 1000 % 2 ? ADDRESSES : ADDRESSES / 4, i;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		i = random % span;
		if (there[i]) {
			stub_table_remove(&table, stub_table_find(&table, address(i)));
			there[i] = NULL;
		} else {
			struct stub *stub = stub_table_add(&table, address(i));

			assert_non_null(stub);
			assert_null(stub->name);
			assert_null(stub->resume);
			there[i] = stub->name = &names[round];
		}
		if (round % 1000 == 0)
			check(&table, there);
	}
	check(&table, there);
	stub_table_release(&table);
}

/* Searches continue from the last slot at the first one. */
static void test_around_the_end(void **state)
{
	const struct lua_proto *last[8];
	struct stub_table table;
	size_t found = 0;

	(void)state;
	assert_int_equal(stub_table_init(&table), 0);
	for (size_t i = 0; found < 8; i++)
		if (stub_table_home(&table, address(i)) == table.mask)
			last[found++] = address(i);
	for (size_t removed = 0; removed < 8; removed++) {
		for (size_t i = 0; i < 8; i++)
			assert_non_null(stub_table_add(&table, last[i]));
		stub_table_remove(&table, stub_table_find(&table, last[removed]));
		for (size_t i = 0; i < 8; i++)
			assert_int_equal(stub_table_find(&table, last[i]) != NULL, i != removed);
		for (size_t i = 0; i < 8; i++)
			if (i != removed)
				stub_table_remove(&table, stub_table_find(&table, last[i]));
		assert_int_equal(table.used, 0);
	}
	stub_table_release(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_a_list),
		cmocka_unit_test(test_around_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
