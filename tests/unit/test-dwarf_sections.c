/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * DWARF sections compressed by zlib or zstd read the same as uncompressed sections. A compressed
 * section that is cut short is ignored.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <cmocka.h>

#include "cli/symbols/dwarf_sections.h"
#include "tests/unit/elf_fixture.h"

#define STRUCTS	   30000
#define FILE_BYTES (16u << 20)
#define ZSTD_TYPE  2

static struct elf_file file;

static void open_sections(struct dwarf_sections *sections, const char *name)
{
	assert_int_equal(elf_file_open(&file, fixture_path(name), 0), 0);
	assert_int_equal(dwarf_sections_init(sections, &file, false), 0);
}

static void close_sections(struct dwarf_sections *sections)
{
	dwarf_sections_release(sections);
	elf_file_close(&file);
}

/* Returns the contents of a section, owned by the caller. */
static uint8_t *read_section(struct dwarf_sections *sections, enum dwarf_section_name name)
{
	uint64_t bytes = sections->section[name].bytes;
	uint8_t *all = malloc(bytes + 1);
	struct cursor cursor;

	cursor_init(&cursor, sections, name, 4096);
	for (uint64_t i = 0; i < bytes; i++)
		all[i] = cursor_byte(&cursor);
	assert_false(cursor.failed);
	cursor_release(&cursor);
	return all;
}

/* Check that the file @other has the same DWARF sections as the file "plain". */
static void check_same(const char *other)
{
	struct dwarf_sections plain, unpacked;
	uint8_t *wanted[DWARF_SECTION_COUNT];

	open_sections(&plain, "plain");
	for (enum dwarf_section_name i = 0; i < DWARF_SECTION_COUNT; i++)
		wanted[i] = read_section(&plain, i);
	elf_file_close(&file);
	open_sections(&unpacked, other);
	assert_true(unpacked.section[DWARF_INFO].bytes);
	for (enum dwarf_section_name i = 0; i < DWARF_SECTION_COUNT; i++) {
		uint8_t *got = read_section(&unpacked, i);

		assert_int_equal(unpacked.section[i].bytes, plain.section[i].bytes);
		assert_memory_equal(got, wanted[i], plain.section[i].bytes);
		free(got);
		free(wanted[i]);
	}
	dwarf_sections_release(&plain);
	close_sections(&unpacked);
}

/* Make the files "plain", which has large DWARF sections, and "zlib", its compressed copy. */
static int setup(void **state)
{
	if (fixture_setup(state))
		return -1;
	fixture_run("for i in $(seq %d); do echo \"struct s$i { int a$i; long b; } v$i;\"; done "
		    ">much.c && cc -g -fPIC -shared -Wl,--build-id=sha1 -o plain much.c",
		STRUCTS);
	fixture_run("objcopy --compress-debug-sections=zlib plain zlib");
	return 0;
}

static void test_zlib(void **state)
{
	(void)state;
	check_same("zlib");
}

/* Compress section @header of the file at @bytes with zstd and put the result at the file's end. */
static void pack_section(uint8_t *bytes, size_t *count, Elf64_Shdr *header, size_t cut)
{
	Elf64_Chdr about = {.ch_type = ZSTD_TYPE, .ch_size = header->sh_size, .ch_addralign = 1};
	size_t room = FILE_BYTES - *count - sizeof(about);
	size_t packed = ZSTD_compress(bytes + *count + sizeof(about), room,
		bytes + header->sh_offset, header->sh_size, 3);

	assert_false(ZSTD_isError(packed));
	memcpy(bytes + *count, &about, sizeof(about));
	header->sh_offset = *count;
	header->sh_size = sizeof(about) + packed - cut;
	header->sh_flags |= SHF_COMPRESSED;
	*count += sizeof(about) + packed;
}

/* Make "zstd" from "plain", with each compressed section @cut bytes too short. */
static void make_zstd(size_t cut)
{
	uint8_t *bytes = calloc(1, FILE_BYTES);
	FILE *in = fopen(fixture_path("plain"), "r"), *out = fopen(fixture_path("zstd"), "w");
	size_t count = fread(bytes, 1, FILE_BYTES, in);
	Elf64_Ehdr *elf = (Elf64_Ehdr *)bytes;
	Elf64_Shdr *sections = (Elf64_Shdr *)(bytes + elf->e_shoff);
	const char *names = (const char *)bytes + sections[elf->e_shstrndx].sh_offset;
	int packed = 0;

	for (int i = 0; i < elf->e_shnum; i++)
		if (!strncmp(names + sections[i].sh_name, ".debug_", 7)) {
			pack_section(bytes, &count, &sections[i], cut);
			packed++;
		}
	assert_true(packed > 3);
	assert_int_equal(fwrite(bytes, 1, count, out), count);
	assert_int_equal(fclose(out), 0);
	fclose(in);
	free(bytes);
}

static void test_zstd(void **state)
{
	struct dwarf_sections sections;

	(void)state;
	make_zstd(0);
	check_same("zstd");
	make_zstd(1);
	assert_int_equal(elf_file_open(&file, fixture_path("zstd"), 0), 0);
	assert_int_equal(dwarf_sections_init(&sections, &file, false), -ENOENT);
	elf_file_close(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zlib),
		cmocka_unit_test(test_zstd),
	};

	return cmocka_run_group_tests(tests, setup, fixture_teardown);
}
