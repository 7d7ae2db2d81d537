/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Names of Ada and Nim are demangled only in modules with other symbols of that language, and C
 * functions beside them keep their names. The modules are C with the linker names that gnat 12 and
 * Nim 1.6 give.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/symbols/symbols.h"
#include "tests/unit/elf_fixture.h"

#define UNITS                                                                     \
	"const int u1 __asm__(\"splitB\") = 1, u2 __asm__(\"ada__tagsS\") = 1;\n" \
	"short u3 __asm__(\"pool_E\");\n"
#define USES_GNAT                                               \
	"extern int used __asm__(\"__gnat_personality_v0\");\n" \
	"int *uses = &used;\n"
#define USES_NIM                \
	"void NimMain(void);\n" \
	"void main_in_c(void) { NimMain(); }\n"
#define NIM "void NimMain(void) { }\n"

/* Linker names, and how they are shown in a module of Ada and of Nim. */
static const char *const names[][3] = {
	{"split__heavy.4", "split.heavy", "split__heavy.4"},
	{"_ada_split", "split", "_ada_split"},
	{"ada__tags__parent_size", "ada.tags.parent_size", "ada__tags__parent_size"},
	{"pool__take__2", "pool.take", "pool__take__2"},
	{"splits__heavy", "splits__heavy", "splits__heavy"},
	{"ada__heavy", "ada__heavy", "ada__heavy"},
	{"heavy__split_5", "heavy__split_5", "split.heavy"},
	{"heavy__c", "heavy__c", "heavy__c"},
};

enum column {
	MANGLED,
	ADA_MODULE,
	NIM_MODULE
};

/*
 * Build a module from the source text @marks and one function for each of `names`. Expect that each
 * function is shown with the name in @column.
 */
static void expect_names(const char *marks, enum column column)
{
	struct symbols *symbols = symbols_new();
	struct symbols_module module = {.path = fixture_path("lang.so")};
	char source[4096];
	size_t at = (size_t)snprintf(source, sizeof(source), "%s", marks);
	int handle;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		at += (size_t)snprintf(source + at, sizeof(source) - at,
			"void f%zu(void) __asm__(\"%s\");\nvoid f%zu(void) { }\n", i, names[i][0],
			i);
	fixture_write("lang.c", source);
	fixture_run("cc -shared -fPIC -o lang.so lang.c");
	handle = symbols_add_module(symbols, &module);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		uint64_t address = fixture_address("lang.so", names[i][0]);
		struct symbols_name name;

		assert_int_equal(symbols_lookup(symbols, handle, address + 1, &name), 0);
		assert_string_equal(name.name, names[i][column]);
	}
	symbols_free(symbols);
}

static void test_modules_show_their_language(void **state)
{
	(void)state;
	expect_names(USES_GNAT UNITS, ADA_MODULE);
	expect_names(NIM, NIM_MODULE);
}

static void test_other_modules_keep_their_names(void **state)
{
	(void)state;
	expect_names("", MANGLED);
	expect_names(UNITS, MANGLED);
	expect_names(USES_GNAT, MANGLED);
	expect_names(USES_NIM, MANGLED);
}

/* Inlined functions have their names from DWARF. */
static void test_inlined_functions(void **state)
{
	struct symbols *symbols = symbols_new();
	struct symbols_module module = {.path = fixture_path("inlined.so")};
	struct symbols_name name;
	uint64_t address;
	int handle;

	(void)state;
	fixture_write("inlined.c",
		NIM "static inline __attribute__((always_inline)) void spin__split_1(void)\n"
		    "{ __asm__ volatile(\".globl here\\nhere: nop\"); }\n"
		    "void heavy__split_5(void) { spin__split_1(); }\n");
	fixture_run("cc -g -O2 -shared -fPIC -o inlined.so inlined.c");
	handle = symbols_add_module(symbols, &module);
	address = fixture_address("inlined.so", "here");
	assert_int_equal(symbols_resolve(symbols, handle, &address, 1), 0);
	assert_int_equal(symbols_lookup(symbols, handle, address, &name), 0);
	assert_int_equal(name.frame_count, 2);
	assert_string_equal(name.frames[0].name, "split.heavy");
	assert_string_equal(name.frames[1].name, "split.spin");
	symbols_free(symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modules_show_their_language),
		cmocka_unit_test(test_other_modules_keep_their_names),
		cmocka_unit_test(test_inlined_functions),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
