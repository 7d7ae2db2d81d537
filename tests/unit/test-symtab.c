/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Test which symbol an address belongs to: each rule of symtab.h alone, then all rules on random
 * symbols, compared with a search through every symbol.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cli/symbols/symtab.h"

#define FUNCTION SYMTAB_RANK_FUNCTION

static void add(
	struct symtab *table, uint64_t start, uint64_t size, const char *name, unsigned rank)
{
	struct symtab_symbol symbol = {.start = start,
		.end = start + size,
		.limit = 1000,
		.name = name,
		.rank = (uint8_t)rank};

	assert_int_equal(symtab_add(table, &symbol), 0);
}

static void expect(struct symtab *table, uint64_t address, const char *name)
{
	const struct symtab_symbol *found = symtab_find(table, address);

	if (!name)
		assert_null(found);
	else
		assert_non_null(found);
	if (name)
		assert_string_equal(found->name, name);
}

static void test_sizes_are_respected(void **state)
{
	struct symtab *table = symtab_new();

	(void)state;
	add(table, 200, 10, "b", FUNCTION);
	add(table, 100, 50, "a", FUNCTION);
	assert_int_equal(symtab_finish(table), 0);
	expect(table, 99, NULL);
	expect(table, 100, "a");
	expect(table, 149, "a");
	expect(table, 150, NULL);
	expect(table, 200, "b");
	expect(table, 210, NULL);
	expect(table, UINT64_MAX, NULL);
	symtab_free(table);
}

static void test_innermost_wins(void **state)
{
	struct symtab *table = symtab_new();

	(void)state;
	add(table, 100, 100, "outer", FUNCTION);
	add(table, 120, 10, "inner", 0);
	add(table, 190, 30, "over the end", FUNCTION);
	assert_int_equal(symtab_finish(table), 0);
	expect(table, 119, "outer");
	expect(table, 120, "inner");
	expect(table, 130, "outer");
	expect(table, 189, "outer");
	expect(table, 190, "over the end");
	expect(table, 219, "over the end");
	expect(table, 220, NULL);
	symtab_free(table);
}

static void test_alias_ranks(void **state)
{
	struct symtab *table = symtab_new();

	(void)state;
	add(table, 100, 10, "global no type", SYMTAB_RANK_GLOBAL);
	add(table, 100, 10, "local", FUNCTION | SYMTAB_RANK_LOCAL);
	add(table, 100, 10, "weak", FUNCTION | SYMTAB_RANK_WEAK);
	add(table, 100, 10, "first global", FUNCTION | SYMTAB_RANK_GLOBAL);
	add(table, 100, 10, "second global", FUNCTION | SYMTAB_RANK_GLOBAL);
	add(table, 200, 10, "best is short", FUNCTION | SYMTAB_RANK_GLOBAL);
	add(table, 200, 20, "long", FUNCTION);
	assert_int_equal(symtab_finish(table), 0);
	expect(table, 100, "first global");
	expect(table, 109, "first global");
	expect(table, 209, "best is short");
	expect(table, 210, "long");
	symtab_free(table);
}

static void test_symbols_without_size(void **state)
{
	struct symtab *table = symtab_new();
	struct symtab_symbol other = {.start = 2000, .end = 2000, .limit = 2010, .name = "other"};

	(void)state;
	add(table, 100, 0, "to the next", 0);
	add(table, 150, 0, "to the function", FUNCTION);
	add(table, 200, 50, "function", FUNCTION);
	add(table, 220, 0, "label", FUNCTION | SYMTAB_RANK_GLOBAL);
	add(table, 300, 0, "entry", FUNCTION | SYMTAB_RANK_GLOBAL);
	add(table, 300, 40, "sized alias", FUNCTION);
	add(table, 900, 0, "to the section's end", 0);
	assert_int_equal(symtab_add(table, &other), 0);
	assert_int_equal(symtab_finish(table), 0);
	expect(table, 149, "to the next");
	expect(table, 199, "to the function");
	expect(table, 220, "function");
	expect(table, 249, "function");
	expect(table, 250, NULL);
	expect(table, 300, "entry");
	expect(table, 339, "entry");
	expect(table, 340, NULL);
	expect(table, 999, "to the section's end");
	expect(table, 1000, NULL);
	expect(table, 2009, "other");
	expect(table, 2010, NULL);
	symtab_free(table);
}

static void test_no_size_is_no_endless_size(void **state)
{
	struct symtab_symbol last = {
		.start = 4096, .end = 4096, .limit = 1u << 20, .name = "by an assembler"};
	struct symtab *table = symtab_new();

	(void)state;
	add(table, 500, 10, "sized", FUNCTION);
	assert_int_equal(symtab_add(table, &last), 0);
	assert_int_equal(symtab_finish(table), 0);
	assert_false(symtab_find(table, 500)->is_unsized);
	expect(table, 4096 + SYMTAB_UNSIZED_BYTES - 1, "by an assembler");
	assert_true(symtab_find(table, 4096)->is_unsized);
	expect(table, 4096 + SYMTAB_UNSIZED_BYTES, NULL);
	symtab_free(table);
}

static void test_impossible_sizes_end_at_the_section(void **state)
{
	struct symtab *table = symtab_new();

	(void)state;
	add(table, 100, UINT64_MAX - 50, "wraps", FUNCTION);
	add(table, 500, 1u << 30, "huge", FUNCTION);
	add(table, 1000, 10, "outside", FUNCTION);
	assert_int_equal(symtab_count(table), 2);
	assert_int_equal(symtab_finish(table), 0);
	expect(table, 499, "wraps");
	expect(table, 999, "huge");
	expect(table, 1000, NULL);
	symtab_free(table);
}

static void test_empty(void **state)
{
	struct symtab *table = symtab_new();

	(void)state;
	assert_int_equal(symtab_finish(table), 0);
	expect(table, 0, NULL);
	symtab_free(table);
	symtab_free(NULL);
}

/* Find the symbol of @address by the rules for symbols with sizes, trying every symbol. */
static size_t oracle(const struct symtab_symbol *symbols, size_t count, uint64_t address)
{
	size_t best = count;

	for (size_t i = 0; i < count; i++) {
		if (address < symbols[i].start || address >= symbols[i].end)
			continue;
		if (best == count || symbols[i].start > symbols[best].start ||
			(symbols[i].start == symbols[best].start &&
				symbols[i].rank > symbols[best].rank))
			best = i;
	}
	return best;
}

static void test_random_against_oracle(void **state)
{
	static char names[40][2];
	unsigned long answered = 0;

	(void)state;
	srand(1);
	for (int round = 0; round < 2000; round++) {
		struct symtab *table = symtab_new();
		struct symtab_symbol symbols[40];
		size_t count = (size_t)rand() % 40;

		for (size_t i = 0; i < count; i++) {
			uint64_t start = (uint64_t)rand() % 100;

			symbols[i] = (struct symtab_symbol){.start = start,
				.end = start + 1 + (uint64_t)rand() % 40,
				.limit = 1000,
				.name = names[i],
				.rank = (uint8_t)(rand() % 16)};
			assert_int_equal(symtab_add(table, &symbols[i]), 0);
		}
		assert_int_equal(symtab_finish(table), 0);
		for (uint64_t address = 0; address < 160; address++) {
			const struct symtab_symbol *found = symtab_find(table, address);
			size_t want = oracle(symbols, count, address);

			if (want == count)
				assert_null(found);
			else
				assert_ptr_equal(found ? found->name : NULL, names[want]);
			answered += found != NULL;
		}
		symtab_free(table);
	}
	assert_true(answered > 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_are_respected),
		cmocka_unit_test(test_innermost_wins),
		cmocka_unit_test(test_alias_ranks),
		cmocka_unit_test(test_symbols_without_size),
		cmocka_unit_test(test_no_size_is_no_endless_size),
		cmocka_unit_test(test_impossible_sizes_end_at_the_section),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_random_against_oracle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
