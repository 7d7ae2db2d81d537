/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Test the registry of modules and the vDSO. Compare with libdwfl: at thousands of addresses in
 * this test's libraries both must find the same symbol.
 */
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/symbols/elf_file.h"
#include "cli/symbols/symbols.h"
#include "tests/unit/elf_fixture.h"

static void test_handles(void **state)
{
	struct symbols *symbols = symbols_new();
	const uint8_t id[] = {1, 2, 3}, other[] = {1, 2, 4};
	struct symbols_module module = {.path = "/x", .build_id = id, .build_id_bytes = 3};
	struct symbols_name name = {.name = "untouched"};
	int first = symbols_add_module(symbols, &module);

	(void)state;
	assert_true(first >= 0);
	assert_int_equal(symbols_add_module(symbols, &module), first);
	module.build_id = other;
	assert_int_not_equal(symbols_add_module(symbols, &module), first);
	module.build_id = NULL;
	assert_int_not_equal(symbols_add_module(symbols, &module), first);
	for (int i = 0; i < 5000; i++) {
		char path[16];

		sprintf(path, "/%d", i);
		module.path = path;
		assert_int_equal(symbols_add_module(symbols, &module), i + 3);
		assert_int_equal(symbols_add_module(symbols, &module), i + 3);
	}
	assert_int_equal(symbols_lookup(symbols, first, 0x1000, &name), -ENOENT);
	assert_int_equal(symbols_lookup(symbols, -1, 0x1000, &name), -ENOENT);
	assert_int_equal(symbols_lookup(symbols, 5003, 0x1000, &name), -ENOENT);
	assert_string_equal(name.name, "untouched");
	assert_int_equal(symbols_module_origin(symbols, first).source, SYMBOLS_NONE);
	assert_int_equal(symbols_module_origin(symbols, 5003).source, SYMBOLS_NONE);
	symbols_free(symbols);
	symbols_free(NULL);
}

static void test_names_are_lasting_and_demangled(void **state)
{
	struct symbols *symbols = symbols_new();
	struct symbols_module module = {.path = fixture_path("cxx.so")};
	struct symbols_name name, again;
	int handle;

	(void)state;
	fixture_write("cxx.c", "int f(void) __asm__(\"_ZN3foo3barIiEEvT_\");\n"
			       "int f(void) { return 1; }\n");
	fixture_run("cc -shared -fPIC -o cxx.so cxx.c");
	handle = symbols_add_module(symbols, &module);

	uint64_t address = fixture_address("cxx.so", "_ZN3foo3barIiEEvT_");

	assert_int_equal(symbols_lookup(symbols, handle, address + 1, &name), 0);
	assert_string_equal(name.name, "foo::bar<int>");
	assert_int_equal(name.start, address);
	assert_true(name.size > 1);
	assert_int_equal(symbols_lookup(symbols, handle, address + name.size - 1, &again), 0);
	assert_ptr_equal(again.name, name.name);
	assert_int_equal(symbols_module_origin(symbols, handle).source, SYMBOLS_SYMTAB);
	symbols_free(symbols);
}

static void test_vdso(void **state)
{
	struct symbols *symbols = symbols_new();
	struct elf_file image;
	const uint8_t *id;
	uint8_t wrong[64];
	struct symbols_name name;
	uint64_t address = 0;

	(void)state;
	if (!getauxval(AT_SYSINFO_EHDR))
		skip();
	assert_int_equal(vdso_open(&image), 0);

	size_t bytes = elf_file_build_id(&image, &id);
	struct symbols_module module = {
		.path = "linux-vdso.so.1", .build_id = id, .build_id_bytes = bytes, .is_vdso = 1};
	int handle = symbols_add_module(symbols, &module);

	while (address < 65536 && (symbols_lookup(symbols, handle, address, &name) ||
					  !strstr(name.name, "clock_gettime")))
		address++;
	assert_true(address < 65536);
	assert_int_equal(symbols_module_origin(symbols, handle).source, SYMBOLS_VDSO);

	assert_true(bytes && bytes <= sizeof(wrong));
	memcpy(wrong, id, bytes);
	wrong[0] ^= 1;
	module.build_id = wrong;
	handle = symbols_add_module(symbols, &module);
	assert_int_equal(symbols_lookup(symbols, handle, address, &name), -ENOENT);
	assert_int_equal(symbols_module_origin(symbols, handle).source, SYMBOLS_MISMATCH);
	elf_file_close(&image);
	symbols_free(symbols);
}

struct comparison {
	unsigned long compared;
	unsigned long unnamed;
	unsigned long both;
};

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* Compare the symbols at random addresses of the segment [@start, @end) of the file at @path. */
static void compare(const char *path, uint64_t start, uint64_t end, struct comparison *sum)
{
	struct symbols *symbols = symbols_new();
	struct symbols_module module = {.path = path};
	int handle = symbols_add_module(symbols, &module);
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *theirs = dwfl_report_offline(dwfl, path, path, -1);
	GElf_Addr bias = 0;

	dwfl_report_end(dwfl, NULL, NULL);
	assert_non_null(theirs);
	assert_non_null(dwfl_module_getelf(theirs, &bias));
	for (int i = 0; i < 1000; i++) {
		uint64_t address = start + (uint64_t)rand() % (end - start);
		struct symbols_name ours;
		GElf_Sym symbol;
		GElf_Off offset;
		int unnamed = symbols_lookup(symbols, handle, address, &ours);
		const char *name = dwfl_module_addrinfo(
			theirs, address + bias, &offset, &symbol, NULL, NULL, NULL);
		uint64_t base = address - offset;

		/*
		 * libdwfl does not name PLT entries but extends symbols without a size over them,
		 * so skip them.
		 */
		if (!unnamed && strstr(ours.name, "@plt"))
			continue;
		if (!name || !symbol.st_size || offset >= symbol.st_size) {
			sum->unnamed += unnamed != 0;
			continue;
		}
		if (GELF_ST_TYPE(symbol.st_info) == STT_OBJECT)
			continue;
		sum->both++;
		if (unnamed || ours.start != base)
			print_error("%s+%#lx: %s at %#lx, libdwfl has %s at %#lx\n", path,
				(unsigned long)address, unnamed ? "nothing" : ours.name,
				unnamed ? 0 : (unsigned long)ours.start, name, (unsigned long)base);
		assert_int_equal(unnamed, 0);
		assert_int_equal(ours.start, base);
	}
	sum->compared++;
	dwfl_end(dwfl);
	symbols_free(symbols);
}

static int compare_object(struct dl_phdr_info *info, size_t size, void *opaque)
{
	const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";

	(void)size;
	if (path[0] != '/')
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type == PT_LOAD && (header->p_flags & PF_X) && header->p_memsz)
			compare(path, header->p_vaddr, header->p_vaddr + header->p_memsz, opaque);
	}
	return 0;
}

static void test_against_libdwfl(void **state)
{
	struct comparison sum = {0};

	(void)state;
	unsetenv("DEBUGINFOD_URLS");
	srand(1);
	dl_iterate_phdr(compare_object, &sum);
	print_message("%lu files, %lu addresses named by both\n", sum.compared, sum.both);
	assert_true(sum.compared >= 4);
	assert_true(sum.both >= 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handles),
		cmocka_unit_test(test_names_are_lasting_and_demangled),
		cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_against_libdwfl),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
