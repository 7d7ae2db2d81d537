/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Read a Go function table of two functions, written by hand: names, extents, stack sizes. Then
 * read the table again with each byte changed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/symbols/gopclntab.h"

#define TEXT 0x401000u

/*
 * Make this table:
 *
 *	0   names: "main.a\0main.b\0"
 *	16  table of main.a's stack sizes, from 17 on: size 0 for the first 4 bytes of code, then
 *	    size 24 for 28 bytes; main.b has no such table
 *	32  functions, (address, offset): (0x00, 32) (0x20, 80), and the end 0x60; each offset is
 *	    relative to 32 and leads to the function's description
 */
static void make(uint8_t bytes[160])
{
	static const uint32_t functions[] = {0x00, 32, 0x20, 80, 0x60};
	static const uint32_t a[] = {0, 0, 0, 0, 1}, b[] = {0x20, 7, 0, 0, 0};

	memset(bytes, 0, 160);
	memcpy(bytes, "main.a\0main.b", 14);
	memcpy(bytes + 17, (uint8_t[]){2, 4, 48, 28, 0}, 5);
	memcpy(bytes + 32, functions, sizeof(functions));
	memcpy(bytes + 64, a, sizeof(a));
	memcpy(bytes + 112, b, sizeof(b));
	bytes[112 + 41] = 1; /* flag: outermost function */
}

static struct gopclntab table_of(const uint8_t *bytes, uint64_t size)
{
	uint64_t names_end = size;

	while (names_end && bytes[names_end - 1])
		names_end--;
	return (struct gopclntab){.bytes = bytes,
		.size = size,
		.text = TEXT,
		.names = 0,
		.names_end = names_end,
		.rows = 16,
		.functions = 32,
		.count = 2,
		.quantum = 1,
		.flag_at = 41};
}

static void test_functions(void **state)
{
	struct gopclntab_function function;
	struct gopclntab table;
	uint8_t bytes[160];

	(void)state;
	make(bytes);
	table = table_of(bytes, sizeof(bytes));
	assert_int_equal(gopclntab_function(&table, 0, &function), 0);
	assert_string_equal(function.name, "main.a");
	assert_int_equal(function.start, TEXT);
	assert_int_equal(function.end, TEXT + 0x20);
	assert_false(function.is_outermost);
	assert_int_equal(gopclntab_function(&table, 1, &function), 0);
	assert_string_equal(function.name, "main.b");
	assert_int_equal(function.end, TEXT + 0x60);
	assert_true(function.is_outermost);
	assert_true(gopclntab_function(&table, 2, &function) < 0);
	/* The table of names now ends before main.b, so that this name has no end. */
	table.names_end = 7;
	assert_int_equal(gopclntab_function(&table, 0, &function), 0);
	assert_true(gopclntab_function(&table, 1, &function) < 0);
}

static void test_rows(void **state)
{
	struct gopclntab_function function;
	struct gopclntab_row row;
	struct gopclntab table;
	uint8_t bytes[160];
	uint64_t at;

	(void)state;
	make(bytes);
	table = table_of(bytes, sizeof(bytes));
	assert_int_equal(gopclntab_function(&table, 0, &function), 0);
	at = function.row;
	row = (struct gopclntab_row){.end = function.start, .bytes = -1};
	assert_int_equal(gopclntab_row(&table, &at, &row), 0);
	assert_int_equal(row.bytes, 0);
	assert_int_equal(row.end, TEXT + 4);
	assert_int_equal(gopclntab_row(&table, &at, &row), 0);
	assert_int_equal(row.bytes, 24);
	assert_int_equal(row.end, TEXT + 32);
	assert_true(gopclntab_row(&table, &at, &row) < 0);
	assert_int_equal(gopclntab_function(&table, 1, &function), 0);
	at = function.row;
	assert_true(gopclntab_row(&table, &at, &row) < 0);
}

static void walk_all(const struct gopclntab *table)
{
	for (uint64_t i = 0; i < 4; i++) {
		struct gopclntab_function function;
		struct gopclntab_row row = {.bytes = -1};
		unsigned rows = 0;
		uint64_t at;

		if (gopclntab_function(table, i, &function))
			continue;
		assert_true(strlen(function.name) < table->size);
		at = function.row;
		while (!gopclntab_row(table, &at, &row))
			assert_true(++rows <= table->size);
	}
}

/*
 * The table is on the heap with its exact size, so that a sanitizer detects reads beyond its end.
 */
static void test_every_byte_changed(void **state)
{
	static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};

	(void)state;
	for (unsigned size = 0; size <= 160; size++) {
		for (unsigned i = 0; i < size * sizeof(values); i++) {
			uint8_t whole[160], *bytes = malloc(size);
			struct gopclntab table;

			make(whole);
			memcpy(bytes, whole, size);
			bytes[i / sizeof(values)] = values[i % sizeof(values)];
			table = table_of(bytes, size);
			walk_all(&table);
			free(bytes);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_every_byte_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
