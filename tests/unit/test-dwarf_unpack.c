/* SPDX-License-Identifier: MIT */
/*
 * What is in compressed sections is what was compressed, by zlib or zstd, whether it is unpacked or
 * was before; and what is not as it was written is unpacked anew.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <cmocka.h>

#include "cli/symbols/dwarf_unpack.h"
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

/* All of a section, owned. */
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

/* Do files @left and @right have the same DWARF? *@is_kept: was that of @right in the cache? */
static void check_same(const char *left, const char *right, bool *is_kept)
{
	struct dwarf_sections plain, other;
	uint8_t *wanted[DWARF_SECTION_COUNT];

	open_sections(&plain, left);
	assert_int_equal(plain.cache, -1);
	for (enum dwarf_section_name i = 0; i < DWARF_SECTION_COUNT; i++)
		wanted[i] = read_section(&plain, i);
	elf_file_close(&file);
	open_sections(&other, right);
	*is_kept = other.cache >= 0;
	assert_true(other.section[DWARF_INFO].bytes);
	for (enum dwarf_section_name i = 0; i < DWARF_SECTION_COUNT; i++) {
		uint8_t *got = read_section(&other, i);

		assert_int_equal(other.section[i].bytes, plain.section[i].bytes);
		assert_memory_equal(got, wanted[i], plain.section[i].bytes);
		free(got);
		free(wanted[i]);
	}
	dwarf_sections_release(&plain);
	close_sections(&other);
}

static bool is_kept(const char *left, const char *right)
{
	bool kept;

	check_same(left, right, &kept);
	return kept;
}

/* Files with much DWARF, "plain", "zlib" and "old", of one build-id; an empty cache. */
static int setup(void **state)
{
	if (fixture_setup(state))
		return -1;
	fixture_run("for i in $(seq %d); do echo \"struct s$i { int a$i; long b; } v$i;\"; done "
		    ">much.c && cc -g -fPIC -shared -Wl,--build-id=sha1 -o plain much.c",
		STRUCTS);
	fixture_run("objcopy --compress-debug-sections=zlib plain zlib && "
		    "objcopy --compress-debug-sections=zlib-gnu plain old");
	return 0;
}

static int empty_cache(void **state)
{
	(void)state;
	fixture_run("rm -rf cache && mkdir -m 700 cache");
	setenv("XDG_CACHE_HOME", fixture_path("cache"), 1);
	return 0;
}

#define KEPT "cache/flamerun/lines/*.dwarf"

static void test_kept(void **state)
{
	(void)state;
	assert_false(is_kept("plain", "zlib"));
	fixture_run("test -s " KEPT " && test $(stat -c %%a " KEPT ") = 600 && "
		    "test $(ls -A cache/flamerun/lines | wc -l) = 1");
	assert_true(is_kept("plain", "zlib"));
	/* The same build-id, compressed otherwise. */
	assert_false(is_kept("plain", "old"));
	assert_true(is_kept("plain", "old"));
	assert_false(is_kept("plain", "zlib"));
}

static void test_damaged(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		static const char *const ways[] = {"truncate -s -1 " KEPT, "truncate -s 20 " KEPT,
			"printf x | dd bs=1 seek=9 conv=notrunc of=$(echo " KEPT ") 2>/dev/null"};

		assert_false(is_kept("plain", "zlib"));
		fixture_run("%s", ways[i]);
	}
	assert_false(is_kept("plain", "zlib"));
	assert_true(is_kept("plain", "zlib"));
}

/* What is soon unpacked is not worth a file. */
static void test_little(void **state)
{
	(void)state;
	fixture_run("cc -g -fPIC -shared -gz=zlib -Wl,--build-id=sha1 -o little lib.c && "
		    "objcopy --decompress-debug-sections little little.plain");
	assert_false(is_kept("little.plain", "little"));
	assert_int_equal(access(fixture_path("cache/flamerun"), F_OK), -1);
}

/* Replace what section @header of the file at @bytes has by what zstd makes of it, at the end. */
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

/* Make "zstd" out of "plain", each section @cut bytes short. */
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
	assert_false(is_kept("plain", "zstd"));
	assert_true(is_kept("plain", "zstd"));
	make_zstd(1);
	assert_int_equal(elf_file_open(&file, fixture_path("zstd"), 0), 0);
	assert_int_equal(dwarf_sections_init(&sections, &file, false), -ENOENT);
	elf_file_close(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_kept, empty_cache),
		cmocka_unit_test_setup(test_damaged, empty_cache),
		cmocka_unit_test_setup(test_little, empty_cache),
		cmocka_unit_test_setup(test_zstd, empty_cache),
	};

	return cmocka_run_group_tests(tests, setup, fixture_teardown);
}
