/* SPDX-License-Identifier: MIT */
/*
 * A search table made from this program's .eh_frame must equal the linker's table in .eh_frame_hdr.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/outside/cfi_table.h"
#include "cli/symbols/elf_file.h"

struct table {
	uint32_t count;
	/* pairs (start of function, FDE), relative to the header */
	const int32_t *entries;
};

static struct table table_at(const char *header)
{
	struct table table;

	memcpy(&table.count, header + 8, sizeof(table.count));
	table.entries = (const int32_t *)(header + 12);
	return table;
}

static void test_the_same_as_the_linkers(void **state)
{
	struct elf_file image;
	GElf_Shdr frames_at, header_at;
	const Elf_Data *frames, *header;
	uint64_t bytes, vaddr;
	struct table ours, linkers;
	char *copy;

	(void)state;
	assert_int_equal(elf_file_open(&image, "/proc/self/exe", 0), 0);
	frames = elf_file_data(elf_file_section(&image, ".eh_frame", &frames_at), &frames_at);
	header = elf_file_data(elf_file_section(&image, ".eh_frame_hdr", &header_at), &header_at);
	assert_non_null(frames);
	assert_non_null(header);
	assert_int_equal(cfi_table_make(frames->d_buf, frames->d_size, frames_at.sh_addr, &copy,
				 &bytes, &vaddr), 0);
	assert_memory_equal(copy, frames->d_buf, frames->d_size);
	ours = table_at(copy + (vaddr - frames_at.sh_addr));
	linkers = table_at(header->d_buf);
	assert_true(ours.count > 100);
	assert_int_equal(ours.count, linkers.count);
	assert_int_equal(bytes, vaddr - frames_at.sh_addr + 12 + ours.count * 8);
	for (uint32_t i = 0; i < 2 * ours.count; i++)
		assert_int_equal(
			ours.entries[i] + vaddr, linkers.entries[i] + header_at.sh_addr);
	free(copy);
	elf_file_close(&image);
}

static void test_nothing_in_it(void **state)
{
	static const char terminator[16];
	uint64_t bytes, vaddr;
	char *copy;

	(void)state;
	assert_true(cfi_table_make(terminator, 0, 4096, &copy, &bytes, &vaddr) < 0);
	assert_true(
		cfi_table_make(terminator, sizeof(terminator), 4096, &copy, &bytes, &vaddr) < 0);
}

/* For arbitrary bytes as .eh_frame, nothing behind the bytes is read. */
static void test_noise(void **state)
{
	uint32_t random = 1;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		size_t size = round % 97;
		char *frames = malloc(size + 1), *copy = NULL;
		uint64_t bytes, vaddr;

		for (size_t i = 0; i < size; i++) {
			random = random * 1664525 + 1013904223;
			frames[i] = (char)(random >> (i % 4 ? 28 : 24));
		}
		if (!cfi_table_make(frames, size, UINT32_MAX, &copy, &bytes, &vaddr))
			free(copy);
		free(frames);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_same_as_the_linkers),
		cmocka_unit_test(test_nothing_in_it),
		cmocka_unit_test(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
