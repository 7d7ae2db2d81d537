/* SPDX-License-Identifier: MIT */
/* Read build-ids from the notes of mapped files, valid and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <link.h>
#include <string.h>

#include "libprof/sampler/modules.h"

#define ID_BYTES 20u

/* A made-up ELF file with two note segments, mapped 0x1000 above its own addresses. */
static struct {
	/* lies before the module, so it must not be read */
	ElfW(Phdr) before;
	ElfW(Ehdr) header;
	ElfW(Phdr) segment[3];
	struct {
		ElfW(Nhdr) note;
		char name[8];
		uint8_t value[8];
	} other;
	struct {
		ElfW(Nhdr) note;
		char name[4];
		uint8_t value[ID_BYTES];
	} id;
} file;

static struct unwind_module module;

static void put_segment(unsigned index, uint32_t type, const void *at, size_t bytes)
{
	file.segment[index].p_type = type;
	file.segment[index].p_vaddr = (uintptr_t)at - 0x1000;
	file.segment[index].p_memsz = bytes;
}

static int setup(void **state)
{
	(void)state;
	memset(&file, 0, sizeof(file));
	memcpy(file.header.e_ident, ELFMAG, SELFMAG);
	file.header.e_phoff = (uintptr_t)file.segment - (uintptr_t)&file.header;
	file.header.e_phentsize = sizeof(file.segment[0]);
	file.header.e_phnum = 3;
	put_segment(0, PT_LOAD, &file.header, sizeof(file.header));
	put_segment(1, PT_NOTE, &file.other, sizeof(file.other));
	put_segment(2, PT_NOTE, &file.other, sizeof(file.other) + sizeof(file.id));
	/* The note type is a build-id's, but the note has another owner, with a longer name. */
	file.other.note = (ElfW(Nhdr)){5, 8, NT_GNU_BUILD_ID};
	memcpy(file.other.name, "GNUs", 5);
	file.id.note = (ElfW(Nhdr)){4, ID_BYTES, NT_GNU_BUILD_ID};
	memcpy(file.id.name, "GNU", 4);
	module = (struct unwind_module){
		.start = (uintptr_t)&file.header, .end = (uintptr_t)(&file + 1), .bias = 0x1000};
	return 0;
}

static const uint8_t *find(uint32_t *bytes)
{
	*bytes = 0;
	return build_id_find(&module, NULL, bytes);
}

static void check_none(void)
{
	uint32_t bytes;

	assert_null(find(&bytes));
}

static void test_behind_another_note(void **state)
{
	uint32_t bytes;

	(void)state;
	assert_ptr_equal(find(&bytes), file.id.value);
	assert_int_equal(bytes, ID_BYTES);
}

static void test_none(void **state)
{
	(void)state;
	file.segment[2].p_type = PT_LOAD;
	check_none();
	setup(NULL);
	file.id.note.n_descsz = 4; /* too short to distinguish files */
	check_none();
	setup(NULL);
	file.header.e_ident[0] = 0;
	check_none();
}

/* Whatever values the fields have, nothing outside the module may be read. */
static void test_damaged(void **state)
{
	(void)state;
	file.id.note.n_descsz = ID_BYTES + 4;
	check_none();
	setup(NULL);
	file.other.note.n_namesz = UINT32_MAX;
	check_none();
	setup(NULL);
	file.segment[2].p_memsz += 4;
	check_none();
	setup(NULL);
	file.segment[2].p_memsz = UINT64_MAX;
	check_none();
	setup(NULL);
	file.segment[2].p_vaddr = 0;
	check_none();
	setup(NULL);
	module.end = module.start + sizeof(file.header) - 1;
	check_none();
}

/* A program header table that is not in the file's first page is ignored. */
static void test_segments_elsewhere(void **state)
{
	(void)state;
	file.before = file.segment[2];
	file.header.e_phoff = UINT64_MAX - sizeof(file.before) + 1;
	file.header.e_phnum = 1;
	check_none();
	setup(NULL);
	file.header.e_phoff = 4096;
	check_none();
	setup(NULL);
	file.header.e_phentsize++;
	check_none();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_behind_another_note, setup),
		cmocka_unit_test_setup(test_none, setup),
		cmocka_unit_test_setup(test_damaged, setup),
		cmocka_unit_test_setup(test_segments_elsewhere, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
