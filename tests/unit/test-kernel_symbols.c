/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Read the kernel's symbols from /proc/kallsyms: which lines are functions, where functions end,
 * and the error if the kernel hides the addresses.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "cli/symbols/kernel_symbols.h"

static int read_text(struct kernel_symbols **out, const char *text)
{
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	int error;

	assert_non_null(file);
	error = kernel_symbols_read(out, file);
	fclose(file);
	return error;
}

static void expect(const struct kernel_symbols *symbols, uint64_t address, const char *name)
{
	const char *found = kernel_symbols_name(symbols, address);

	if (!name)
		assert_null(found);
	else
		assert_non_null(found);
	if (name)
		assert_string_equal(found, name);
}

static void test_functions(void **state)
{
	struct kernel_symbols *symbols;

	(void)state;
	assert_int_equal(read_text(&symbols, "ffffffff81002000 T second\n"
					     "ffffffff81001000 t first\n"
					     "ffffffff81001000 T its_alias\n"
					     "ffffffff81003000 D data\n"
					     "ffffffffc0000000 t in_module\t[ext4]\n"
					     "ffffffffc0000100 W weak\n"),
		0);
	expect(symbols, 0xffffffff81000fff, NULL);
	expect(symbols, 0xffffffff81001000, "first");
	expect(symbols, 0xffffffff81001fff, "first");
	expect(symbols, 0xffffffff81002000, "second");
	/* The address of a data symbol ends the function before it, but gets no name. */
	expect(symbols, 0xffffffff81003000, NULL);
	expect(symbols, 0xffffffffc0000010, "in_module");
	expect(symbols, UINT64_MAX, "weak");
	kernel_symbols_free(symbols);
}

static void test_bad_lines(void **state)
{
	struct kernel_symbols *symbols;

	(void)state;
	assert_int_equal(read_text(&symbols, "\n"
					     "ffffffff81000000\n"
					     "ffffffff81000000 T\n"
					     "ffffffff81000000 T \n"
					     "ffffffff81000000 TT two\n"
					     "no number T word\n"
					     "ffffffff81000000 T \x1b[31mred\n"
					     "ffffffff81000008 T good"),
		0);
	expect(symbols, 0xffffffff81000000, NULL);
	expect(symbols, 0xffffffff81000009, "good");
	kernel_symbols_free(symbols);
}

/* With kernel.kptr_restrict, all addresses in the file are 0. */
static void test_hidden(void **state)
{
	struct kernel_symbols *symbols;

	(void)state;
	assert_int_equal(read_text(&symbols, "0000000000000000 T _stext\n"
					     "0000000000000000 T do_something\n"),
		-EPERM);
	assert_int_equal(read_text(&symbols, "\n"), -EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_hidden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
