/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Read chains of inlined functions from DWARF in every kind of file. One source is built in many
 * ways; the chain at the address `here` is known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/symbols/inlines.h"
#include "cli/symbols/symbols.h"
#include "tests/unit/elf_fixture.h"

/* The numbers in the comments of this program are its line numbers. */
#define CHAIN_C                                                          \
	"#define INLINED static inline __attribute__((always_inline))\n" \
	"INLINED int innermost(int a)\n"                                 \
	"{\n"                                                            \
	"	__asm__ volatile(\".globl here\\nhere: nop\"); /* 4 */\n"      \
	"	return a;\n"                                                   \
	"}\n"                                                            \
	"INLINED int middle(int a)\n"                                    \
	"{\n"                                                            \
	"	return innermost(a * 3) + 1; /* 9 */\n"                        \
	"}\n"                                                            \
	"int outer(int a);\n"                                            \
	"int outer(int a)\n"                                             \
	"{\n"                                                            \
	"	return a + middle(a + 1); /* 14 */\n"                          \
	"}\n"

static const struct {
	const char *name;
	unsigned line;
} known[] = {{"outer", 14}, {"middle", 9}, {"innermost", 4}};

#define KNOWN (sizeof(known) / sizeof(known[0]))

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * Look up the address `here` in the folder's file @name. Returns the symbols object that owns the
 * texts of @found.
 */
static struct symbols *look_up_here(
	const char *name, const char *full, struct symbols_name *found)
{
	struct symbols *symbols = symbols_new();
	struct symbols_module module = {.path = fixture_path(name)};
	int handle = symbols_add_module(symbols, &module);
	uint64_t address = fixture_address(full, "here");

	assert_true(address);
	assert_int_equal(symbols_resolve(symbols, handle, &address, 1), 0);
	assert_int_equal(symbols_lookup(symbols, handle, address, found), 0);
	return symbols;
}

/* Check that the chain at the address `here` is the known one in the folder's file @name. */
static void check_chain(const char *name)
{
	struct symbols_name found;
	struct symbols *symbols = look_up_here(name, "chain.full", &found);

	assert_int_equal(found.frame_count, KNOWN);
	for (size_t i = 0; i < KNOWN; i++) {
		assert_string_equal(found.frames[i].name, known[i].name);
		assert_string_equal(base(found.frames[i].file), "chain.c");
		assert_int_equal(found.frames[i].line, known[i].line);
	}
	symbols_free(symbols);
}

/* Check a file in which the inlined functions have no names: only the outermost frame is shown. */
static void check_outermost(const char *name)
{
	struct symbols_name found;
	struct symbols *symbols = look_up_here(name, "chain.full", &found);

	assert_in_range(found.frame_count, 1, KNOWN - 1);
	for (uint32_t i = 0; i < found.frame_count; i++)
		assert_string_not_equal(symbols_frame_at(&found, i).name, "");
	assert_int_equal(found.frames[found.frame_count - 1].line, known[KNOWN - 1].line);
	symbols_free(symbols);
}

/* Check a file whose .dwo is missing: the line must still be known. */
static void check_lines(const char *name)
{
	struct symbols_name found;
	struct symbols *symbols = look_up_here(name, "chain.full", &found);

	assert_int_equal(found.frame_count, 1);
	assert_int_equal(found.frames[0].line, known[KNOWN - 1].line);
	symbols_free(symbols);
}

/*
 * Build the source with @flags into "chain", and copy it to "chain.full", which later steps do not
 * change.
 */
static void build_chain(const char *flags)
{
	fixture_write("chain.c", CHAIN_C);
	fixture_run("rm -f chain chain.full *.dwo *.o");
	fixture_run("cc -O2 -fPIC %s -c -o chain.o chain.c && "
		    "cc -shared -Wl,--build-id=sha1 -o chain chain.o && cp chain chain.full",
		flags);
}

static void test_versions(void **state)
{
	char flags[64];

	(void)state;
	for (int version = 2; version <= 5; version++) {
		snprintf(flags, sizeof(flags), "-gdwarf-%d -gno-strict-dwarf", version);
		build_chain(flags);
		check_chain("chain");
	}
}

/* Pack the .dwo into a .dwp behind another .dwo. */
static void check_package(const char *flags)
{
	fixture_run("echo 'int x(int a) { return a; }' >x.c && cc %s -fPIC -c x.c && "
		    "cc -shared -o chain x.o chain.o && dwp -e chain -o chain.dwp && rm *.dwo && "
		    "cp chain chain.full",
		flags);
	check_chain("chain");
	/* Strip the program. Its debug file then refers to the .dwp. */
	fixture_run("objcopy --only-keep-debug chain chain.debug && strip -g chain && "
		    "objcopy --add-gnu-debuglink=chain.debug chain");
	check_chain("chain");
}

static void test_split(void **state)
{
	(void)state;
	for (int version = 4; version <= 5; version++) {
		char flags[64];

		snprintf(flags, sizeof(flags), "-gdwarf-%d -gsplit-dwarf", version);
		build_chain(flags);
		check_chain("chain");
		/*
		 * Skip DWARF 5, because neither binutils' dwp 2.40 nor LLVM 14's dwp can pack gcc's
		 * .dwo files.
		 */
		if (version < 5 && !system("command -v dwp >/dev/null 2>&1"))
			check_package(flags);
		fixture_run("rm -f chain.dwp *.dwo");
		check_lines("chain");
	}
}

static void test_compressed(void **state)
{
	(void)state;
	build_chain("-g");
	fixture_run("objcopy --compress-debug-sections=zlib chain");
	check_chain("chain");
}

/* DWARF in a file behind a debug link. */
static void test_separate(void **state)
{
	(void)state;
	build_chain("-g");
	fixture_run("objcopy --only-keep-debug chain chain.debug && strip -g chain && "
		    "objcopy --add-gnu-debuglink=chain.debug chain");
	check_chain("chain");
}

/*
 * dwz moves DWARF that two files share to a third file. Check with this third file and then without
 * it.
 */
static void test_dwz(void **state)
{
	(void)state;
	if (system("command -v dwz >/dev/null 2>&1"))
		skip();
	build_chain("-gdwarf-4");
	fixture_run("cp chain other && dwz -m shared chain other && cp chain chain.full");
	check_chain("chain");
	fixture_run("mv shared hidden");
	check_outermost("chain");
}

static void test_without(void **state)
{
	struct symbols *symbols = symbols_new();
	struct symbols_module module = {.path = fixture_path("chain")};
	int handle = symbols_add_module(symbols, &module);
	struct symbols_name found;
	uint64_t address;

	(void)state;
	build_chain("-g0");
	address = fixture_address("chain", "here");
	assert_int_equal(symbols_resolve(symbols, handle, &address, 1), 0);
	assert_int_equal(symbols_lookup(symbols, handle, address, &found), 0);
	assert_int_equal(found.frame_count, 0);
	assert_null(found.frames);
	symbols_free(symbols);
}

/*
 * gcc describes a nested function inside its containing function, but the nested function's code
 * lies outside.
 */
static void test_nested(void **state)
{
	struct symbols *symbols = symbols_new();
	struct symbols_module module = {.path = fixture_path("nested")};
	int handle = symbols_add_module(symbols, &module);
	struct symbols_name found;
	uint64_t here;

	(void)state;
	fixture_write("nested.c",
		"static inline __attribute__((always_inline)) int inner(int a)\n"
		"{\n"
		"	__asm__ volatile(\".globl here\\nhere: nop\");\n"
		"	return a;\n"
		"}\n"
		"int outer(int a)\n"
		"{\n"
		"	__attribute__((noinline)) int nested(int b) { return inner(b) * a; }\n"
		"	return nested(a) + 1;\n"
		"}\n");
	fixture_run("gcc -O2 -g -fPIC -shared -o nested nested.c");
	here = fixture_address("nested", "here");
	assert_int_equal(symbols_resolve(symbols, handle, &here, 1), 0);
	assert_int_equal(symbols_lookup(symbols, handle, here, &found), 0);
	assert_int_equal(found.frame_count, 2);
	assert_int_equal(found.frames[0].line, 8);
	assert_string_equal(found.frames[1].name, "inner");
	assert_int_equal(found.frames[1].line, 3);
	symbols_free(symbols);
}

/*
 * gcc may split a function and inline the second part back into the first part. This is no call, so
 * it adds no frame. But if a recursive function is inlined into itself, both frames are shown.
 */
static void test_put_back(void **state)
{
	struct symbols_name found;
	struct symbols *symbols;

	(void)state;
	fixture_write("back.c",
		"int before(void), after(int), work(int);\n"
		"extern int flag;\n"
		"int put(int a)\n"
		"{\n"
		"	int old, done = 0;\n"
		"	if (flag)\n"
		"		return 0;\n"
		"	old = before();\n"
		"	__asm__ volatile(\".globl here\\nhere: nop\");\n"
		"	for (int i = 0; i < 30; i++)\n"
		"		done += work(a + i) * work(a);\n"
		"	after(old);\n"
		"	return done;\n"
		"}\n"
		"extern __typeof(put) other __attribute__((alias(\"put\")));\n");
	fixture_run("gcc -O2 -g -fPIC -shared -o back back.c");
	fixture_run("readelf --debug-dump=info back | grep -q DW_TAG_inlined_subroutine");
	symbols = look_up_here("back", "back", &found);
	assert_int_equal(found.frame_count, 1);
	assert_string_equal(found.frames[0].name, "put");
	assert_int_equal(found.frames[0].line, 9);
	symbols_free(symbols);
	fixture_write("self.c",
		"int self(int a)\n"
		"{\n"
		"	if (a < 2)\n"
		"		return a;\n"
		"	__asm__ volatile(\".globl here%=\\nhere%=: nop\" ::);\n"
		"	return self(a - 1) + self(a - 2);\n"
		"}\n");
	fixture_run("gcc -O3 -g -fPIC -fno-semantic-interposition -shared -o self.all self.c");
	fixture_run("objcopy --redefine-sym $(nm self.all | grep -o 'here[0-9]*$' | tail -1)=here "
		    "self.all self");
	symbols = look_up_here("self", "self", &found);
	assert_in_range(found.frame_count, 2, 100);
	assert_string_equal(found.frames[1].name, "self");
	assert_int_equal(found.frames[0].line, 6);
	symbols_free(symbols);
}

static void check_names(
	const char *name, const char *debug_name, const char *const *names, uint32_t count)
{
	struct symbols_name found;
	struct symbols *symbols = look_up_here(name, debug_name, &found);

	assert_int_equal(found.frame_count, count);
	for (uint32_t i = 0; i < count; i++)
		assert_string_equal(found.frames[i].name, names[i]);
	symbols_free(symbols);
}

/*
 * A function without a linkage name is named with the functions, namespaces and classes that
 * contain it.
 */
static void test_containers(void **state)
{
	static const char *const names[] = {
		"outer", "outer::{lambda}::operator()", "space::(anonymous namespace)::Held::keep"};

	(void)state;
	fixture_write("chain.cc",
		"#define INLINED __attribute__((always_inline))\n"
		"namespace space { namespace { struct Held {\n"
		"	INLINED int keep(int a)\n"
		"	{ __asm__ volatile(\".globl here\\nhere: nop\"); return a; }\n"
		"}; } }\n"
		"extern \"C\" int outer(int a)\n"
		"{\n"
		"	auto thrice = [](int b) INLINED { return space::Held().keep(b * 3); };\n"
		"	return thrice(a) + 1;\n"
		"}\n");
	fixture_run("g++ -O2 -g -fPIC -shared -o chain chain.cc && cp chain chain.full");
	check_names("chain", "chain.full", names, sizeof(names) / sizeof(names[0]));
}

/* Name a lambda in a function that is declared and defined at different places of the source. */
static void test_defined_elsewhere(void **state)
{
	static const char *const names[] = {"space::Whole::sum",
		"space::step<space::Whole::sum(int)::<lambda(int)> >",
		"space::step<space::Whole::sum(int)::<lambda(int)> >::{lambda}::operator()",
		"space::Whole::sum::{lambda}::operator()"};

	(void)state;
	fixture_write("defined.cc",
		"#define INLINED __attribute__((always_inline))\n"
		"namespace space {\n"
		"struct Whole { int sum(int a); int times; };\n"
		"template <class F> INLINED inline int step(F inner)\n"
		"{ return [=](int b) INLINED { return inner(b + 1); }(7); }\n"
		"}\n"
		"int space::Whole::sum(int a)\n"
		"{\n"
		"	return step([=, this](int b) INLINED\n"
		"	{ __asm__ volatile(\".globl here\\nhere: nop\");\n"
		"	  return a * b + times; });\n"
		"}\n");
	fixture_run("g++ -O2 -g -std=c++2a -fPIC -shared -o defined defined.cc && "
		    "cp defined defined.full");
	check_names("defined", "defined.full", names, sizeof(names) / sizeof(names[0]));
}

/*
 * Read invalid DWARF: an inlined function whose origin is itself, more nested blocks than are read,
 * another inlined function in the innermost block, and a unit that is longer than its section.
 */
static void test_hostile(void **state)
{
	static const char range[] = "	.quad f\n	.long fend - f\n";
	struct inlines_request request = {.count = 1};
	const struct inlines_chain *chain;
	struct inlines *inlines;
	struct elf_file file;
	char source[4096];
	uint64_t here;

	(void)state;
	snprintf(source, sizeof(source),
		"	.text\n	.globl here\nf:	nop\nhere:	nop\nfend:\n"
		"	.section .debug_abbrev,\"\"\n"
		"	.uleb128 1, 0x11\n	.byte 1, 0x3, 8, 0x11, 1, 0x12, 6, 0, 0\n"
		"	.uleb128 2, 0x2e\n	.byte 1, 0x3, 8, 0x11, 1, 0x12, 6, 0, 0\n"
		"	.uleb128 3, 0x1d\n	.byte 1, 0x31, 0x13, 0x11, 1, 0x12, 6, 0, 0\n"
		"	.uleb128 4, 0x0b\n	.byte 1, 0x11, 1, 0x12, 6, 0, 0\n"
		"	.byte 0\n"
		"	.section .debug_info,\"\"\n"
		"unit:	.long end - unit - 4 + more\n	.short 4\n	.long .debug_abbrev\n"
		"	.byte 8\n"
		"	.uleb128 1\n	.asciz \"u\"\n%s"
		"	.uleb128 2\n	.asciz \"f\"\n%s"
		"itself:	.uleb128 3\n	.long itself - unit\n%s"
		"	.rept 5000\n	.uleb128 4\n%s	.endr\n"
		"	.uleb128 3\n	.long itself - unit\n%s"
		"	.rept 5004\n	.byte 0\n	.endr\n"
		"end:\n	.section .note.GNU-stack,\"\"\n",
		range, range, range, range, range);
	fixture_write("hostile.s", source);
	for (int is_long = 0; is_long < 2; is_long++) {
		fixture_run("cc -shared -Wa,--defsym,more=%d -o hostile hostile.s", is_long);
		here = fixture_address("hostile", "here");
		request.addresses = &here;
		request.file = &file;
		assert_int_equal(elf_file_open(&file, fixture_path("hostile"), 0), 0);
		assert_int_equal(inlines_read(&request, &inlines), 0);
		chain = inlines_find(inlines, here);
		assert_int_equal(chain->count, is_long ? 0 : 1);
		if (!is_long)
			assert_string_equal(chain->frames[0].name, "f");
		inlines_free(inlines);
		elf_file_close(&file);
	}
}

/*
 * Look up several batches, with an address that is in two of them, and one address before the first
 * batch.
 */
static void test_batches(void **state)
{
	struct symbols *symbols = symbols_new();
	struct symbols_module module = {.path = fixture_path("chain")};
	int handle = symbols_add_module(symbols, &module);
	struct symbols_name first, again;
	uint64_t here, addresses[3];

	(void)state;
	build_chain("-g");
	here = fixture_address("chain", "here");
	addresses[0] = here;
	addresses[1] = fixture_address("chain", "outer");
	addresses[2] = here;
	assert_int_equal(symbols_lookup(symbols, handle, here, &first), 0);
	assert_int_equal(first.frame_count, 0);
	assert_int_equal(symbols_resolve(symbols, handle, addresses, 3), 0);
	assert_int_equal(symbols_lookup(symbols, handle, here, &first), 0);
	assert_int_equal(first.frame_count, KNOWN);
	assert_int_equal(symbols_resolve(symbols, handle, &here, 1), 0);
	assert_int_equal(symbols_lookup(symbols, handle, here, &again), 0);
	assert_int_equal(again.frame_count, KNOWN);
	assert_int_equal(symbols_lookup(symbols, handle, addresses[1], &again), 0);
	assert_in_range(again.frame_count, 1, KNOWN);
	assert_string_equal(symbols_frame_at(&again, 0).name, "outer");
	symbols_free(symbols);
}

static bool always(void)
{
	return true;
}

static void test_hurried(void **state)
{
	struct inlines_request request = {.count = 1, .is_hurried = always};
	struct inlines *inlines;
	struct elf_file file;
	uint64_t here;

	(void)state;
	build_chain("-g");
	here = fixture_address("chain", "here");
	request.addresses = &here;
	request.file = &file;
	assert_int_equal(elf_file_open(&file, fixture_path("chain"), 0), 0);
	assert_int_equal(inlines_read(&request, &inlines), 0);
	assert_int_equal(inlines_find(inlines, here)->count, 0);
	inlines_free(inlines);
	request.is_hurried = NULL;
	assert_int_equal(inlines_read(&request, &inlines), 0);
	assert_int_equal(inlines_find(inlines, here)->count, KNOWN);
	assert_null(inlines_find(inlines, here + 1));
	inlines_free(inlines);
	elf_file_close(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_separate),
		cmocka_unit_test(test_dwz),
		cmocka_unit_test(test_without),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_put_back),
		cmocka_unit_test(test_containers),
		cmocka_unit_test(test_defined_elsewhere),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_batches),
		cmocka_unit_test(test_hurried),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
