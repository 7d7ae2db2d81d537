/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Read ELF files that are cut at any length or have changed bytes: reading must end and must not
 * crash. Also sparse files whose headers announce billions of sections.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/symbols/elf_file.h"
#include "cli/symbols/symbols.h"
#include "tests/unit/elf_fixture.h"

/* Look up many addresses in the file. Returns for how many a name was found. */
static unsigned look_up_all(const char *path)
{
	struct symbols *symbols = symbols_new();
	struct symbols_module module = {.path = path};
	int handle = symbols_add_module(symbols, &module);
	unsigned named = 0;

	for (uint64_t address = 0; address < 0x8000; address += 8) {
		struct symbols_name name;

		if (!symbols_lookup(symbols, handle, address, &name)) {
			assert_true(strlen(name.name) < 5000);
			assert_true(address - name.start < name.size);
			named++;
		}
	}
	symbols_free(symbols);
	return named;
}

/* Read an ELF file in memory that ends within its first section header. */
static void test_memory_cut_in_headers(void **state)
{
	Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
				     ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 1,
		.e_shoff = sizeof(header)};

	(void)state;
	for (size_t bytes = 0; bytes < sizeof(header) + sizeof(Elf64_Shdr); bytes++) {
		char *memory = malloc(bytes + !bytes);
		struct elf_file file;

		assert_non_null(memory);
		memcpy(memory, &header, bytes < sizeof(header) ? bytes : sizeof(header));
		if (elf_file_init_memory(&file, memory, bytes))
			free(memory);
		else
			elf_file_close(&file);
	}
}

static void test_cut_anywhere(void **state)
{
	struct stat status;
	unsigned whole;

	(void)state;
	fixture_run("cp lib.so cut.so");
	whole = look_up_all(fixture_path("cut.so"));
	assert_true(whole > 5);
	assert_int_equal(stat(fixture_path("cut.so"), &status), 0);
	for (off_t size = status.st_size - 1; size >= 0; size -= 61) {
		assert_int_equal(truncate(fixture_path("cut.so"), size), 0);
		assert_int_equal(look_up_all(fixture_path("cut.so")), 0);
	}
}

/*
 * Copy @from to cut.so. A shell command would see another root folder than this program if
 * qemu-user runs it.
 */
static void copy_library(const char *from)
{
	char buffer[65536];
	int in = open(from, O_RDONLY);
	int out = open(fixture_path("cut.so"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ssize_t got;

	assert_true(in >= 0 && out >= 0);
	while ((got = read(in, buffer, sizeof(buffer))) > 0)
		assert_int_equal(write(out, buffer, (size_t)got), got);
	assert_int_equal(got, 0);
	close(in);
	close(out);
}

static void test_real_library_cut(void **state)
{
	struct stat status;
	Dl_info library;

	(void)state;
	assert_int_not_equal(dladdr((void *)elf_begin, &library), 0);
	copy_library(library.dli_fname);
	assert_true(look_up_all(fixture_path("cut.so")) > 0);
	assert_int_equal(stat(fixture_path("cut.so"), &status), 0);
	for (off_t size = status.st_size - 1; size > 0; size -= 1021) {
		assert_int_equal(truncate(fixture_path("cut.so"), size), 0);
		assert_int_equal(look_up_all(fixture_path("cut.so")), 0);
	}
}

static void test_bytes_changed_anywhere(void **state)
{
	uint8_t whole[65536], changed[sizeof(whole)];
	int fd = open(fixture_path("lib.so"), O_RDONLY);
	ssize_t bytes = read(fd, whole, sizeof(whole));
	unsigned survived = 0;

	(void)state;
	close(fd);
	assert_true(bytes > 1000 && bytes < (ssize_t)sizeof(whole));
	srand(1);
	alarm(120);
	for (int round = 0; round < 3000; round++) {
		memcpy(changed, whole, (size_t)bytes);
		for (int i = rand() % 8; i >= 0; i--) {
			/*
			 * Change bytes mostly near the headers, which are at the file's beginning
			 * and end.
			 */
			size_t range = round % 3 ? 2048 : (size_t)bytes;
			size_t at = (size_t)rand() % range;

			if (round % 3 == 1)
				at = (size_t)bytes - 1 - at;
			changed[at] = (uint8_t)(rand() % 3 ? rand() : 255);
		}
		fd = open(fixture_path("changed.so"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
		assert_int_equal(write(fd, changed, (size_t)bytes), bytes);
		close(fd);
		survived += look_up_all(fixture_path("changed.so")) > 0;
	}
	alarm(0);
	assert_true(survived > 100);
}

static void test_sparse_giants(void **state)
{
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
		.e_shoff = 4096,
		.e_shentsize = sizeof(Elf64_Shdr)};
	Elf64_Shdr first = {.sh_size = 2 * ELF_FILE_SECTIONS_MAX};
	struct elf_file image;
	int fd = open(fixture_path("sparse"), O_RDWR | O_CREAT | O_TRUNC, 0600);

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(pwrite(fd, &first, sizeof(first), 4096), sizeof(first));
	assert_int_equal(elf_file_open(&image, fixture_path("sparse"), 0), -ENOEXEC);

	/* A symbol table just above the cap. */
	Elf64_Shdr sections[2] = {{0},
		{.sh_type = SHT_SYMTAB,
			.sh_offset = 8192,
			.sh_size =
				(ELF_FILE_SECTION_MAX / sizeof(Elf64_Sym) + 1) * sizeof(Elf64_Sym),
			.sh_entsize = sizeof(Elf64_Sym)}};
	GElf_Shdr table;

	header.e_shnum = 2;
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(pwrite(fd, sections, sizeof(sections), 4096), sizeof(sections));
	close(fd);
	assert_int_equal(elf_file_open(&image, fixture_path("sparse"), 0), 0);
	assert_non_null(gelf_getshdr(elf_getscn(image.elf, 1), &table));
	assert_int_equal(table.sh_size, sections[1].sh_size);
	assert_null(elf_file_data(elf_getscn(image.elf, 1), &table));
	elf_file_close(&image);
	alarm(20);
	assert_int_equal(look_up_all(fixture_path("sparse")), 0);
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_cut_in_headers),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_real_library_cut),
		cmocka_unit_test(test_bytes_changed_anywhere),
		cmocka_unit_test(test_sparse_giants),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
