/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Read the properties of a program's ELF file from copies of this program: whole, altered and
 * damaged. test-admission.c reads files made by hand.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprof/preload/elf_program.h"

/* the bytes of this program's file, and a copy that tests change */
static struct {
	unsigned char *bytes;
	size_t size;
	int copy;
} self;

static struct elf_program program;

static int load_self(void **state)
{
	int descriptor = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat status;

	(void)state;
	assert_true(descriptor >= 0);
	assert_int_equal(fstat(descriptor, &status), 0);
	self.size = (size_t)status.st_size;
	self.bytes = malloc(self.size);
	assert_non_null(self.bytes);
	assert_int_equal(read(descriptor, self.bytes, self.size), self.size);
	close(descriptor);
	self.copy = memfd_create("copy", MFD_CLOEXEC);
	assert_int_equal(write(self.copy, self.bytes, self.size), self.size);
	return 0;
}

static int release_self(void **state)
{
	(void)state;
	free(self.bytes);
	return close(self.copy);
}

static void put(const void *bytes, size_t size, uint64_t offset)
{
	assert_int_equal(pwrite(self.copy, bytes, size, (off_t)offset), size);
}

static uint64_t segment_of(unsigned type, ElfW(Phdr) *out)
{
	const ElfW(Ehdr) *header = (const void *)self.bytes;
	uint64_t offset = header->e_phoff;

	for (unsigned i = 0; i < header->e_phnum; i++, offset += sizeof(*out)) {
		memcpy(out, self.bytes + offset, sizeof(*out));
		if (out->p_type == type)
			return offset;
	}
	fail();
	return 0;
}

/*
 * Returns the file offset of the name of the first DT_NEEDED library. The name must occur only
 * once.
 */
static uint64_t first_needed(void)
{
	ElfW(Phdr) segment;
	ElfW(Dyn) entry;
	uint64_t strings = 0, needed = UINT64_MAX;

	segment_of(PT_DYNAMIC, &segment);
	for (uint64_t at = 0; at < segment.p_filesz; at += sizeof(entry)) {
		memcpy(&entry, self.bytes + segment.p_offset + at, sizeof(entry));
		if (entry.d_tag == DT_STRTAB)
			strings = entry.d_un.d_ptr;
		if (entry.d_tag == DT_NEEDED && needed == UINT64_MAX)
			needed = entry.d_un.d_val;
	}
	/*
	 * The first segment maps the file's beginning at address 0, so the address is the file
	 * offset.
	 */
	return strings + needed;
}

static void its_own_file(void **state)
{
	ElfW(Phdr) segment;

	(void)state;
	segment_of(PT_INTERP, &segment);
	assert_int_equal(elf_program_read(self.copy, &program), 0);
	assert_int_equal(program.kind, ELF_PROGRAM_DYNAMIC);
	assert_int_equal(program.loader_offset, segment.p_offset);
	assert_int_equal(program.loader_bytes, segment.p_filesz);
	assert_int_equal(program.word_class, ELFCLASS64);
	assert_string_equal(program.sanitizer, "");
}

static void a_runtime_that_wants_to_be_first(void **state)
{
	static const char *const names[] = {"libasan.so.8", "libclang_rt.asan"};
	uint64_t offset = first_needed();

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		put(names[i], strlen(names[i]), offset);
		assert_int_equal(elf_program_read(self.copy, &program), 0);
		assert_int_equal(strncmp(program.sanitizer, names[i], strlen(names[i])), 0);
	}
	put(self.bytes + offset, 32, offset);
}

static void options_for_any_order(void **state)
{
	(void)state;
	assert_false(elf_program_allows_any_order(NULL));
	assert_false(elf_program_allows_any_order("verify_asan_link_order=1"));
	assert_true(elf_program_allows_any_order("halt=1:verify_asan_link_order=0"));
	assert_false(elf_program_allows_any_order(
		"verify_asan_link_order=false verify_asan_link_order=true"));
}

static void a_runtime_that_is_preloaded_first(void **state)
{
	static const char *const lists[] = {"libasan.so.8", " :/l/libasan.so:b",
		"/l/libclang_rt.asan-x86_64.so", "/l/ours.so: /l/ours.so libasan.so"};
	static const char *const others[] = {"", ": ", "/l/ours.so", "b:libasan.so",
		"/libasan.so.8/b", "/l/ours.so.1:libasan.so", "liblsan.so"};

	(void)state;
	assert_false(elf_program_preloads_sanitizer(NULL, "/l/ours.so"));
	assert_true(elf_program_preloads_sanitizer(lists[0], NULL));
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		assert_true(elf_program_preloads_sanitizer(lists[i], "/l/ours.so"));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(elf_program_preloads_sanitizer(others[i], "/l/ours.so"));
}

static void what_is_no_program(void **state)
{
	ElfW(Phdr) segment;
	uint64_t offset = segment_of(PT_INTERP, &segment);
	int text = memfd_create("text", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(write(text, "#!/bin/sh\nexit 3\n", 17), 17);
	assert_int_equal(elf_program_read(text, &program), -ENOEXEC);
	close(text);
	segment.p_filesz = 1;
	put(&segment, sizeof(segment), offset);
	assert_int_equal(elf_program_read(self.copy, &program), -ENOEXEC);
	put(self.bytes + offset, sizeof(segment), offset);
}

/*
 * For a damaged file any result is allowed, but reading must end, and sanitizers must find no
 * error.
 */
static void damage_is_survived(void **state)
{
	const ElfW(Ehdr) *header = (const void *)self.bytes;
	size_t headers_bytes = header->e_phnum * sizeof(ElfW(Phdr));
	ElfW(Phdr) dynamic;

	(void)state;
	segment_of(PT_DYNAMIC, &dynamic);
	srand(1);
	for (int round = 0; round < 20000; round++) {
		int in_dynamic = rand() % 2;
		size_t low = in_dynamic ? dynamic.p_offset : header->e_phoff;
		size_t at = low + (size_t)rand() % (in_dynamic ? dynamic.p_filesz : headers_bytes);
		unsigned char wrong = (unsigned char)rand();

		put(&wrong, 1, at);
		if (!elf_program_read(self.copy, &program))
			assert_true(strnlen(program.sanitizer, sizeof(program.sanitizer)) <
				sizeof(program.sanitizer));
		if (rand() % 4)
			put(self.bytes + at, 1, at);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(its_own_file, load_self, release_self),
		cmocka_unit_test_setup_teardown(
			a_runtime_that_wants_to_be_first, load_self, release_self),
		cmocka_unit_test(options_for_any_order),
		cmocka_unit_test(a_runtime_that_is_preloaded_first),
		cmocka_unit_test_setup_teardown(what_is_no_program, load_self, release_self),
		cmocka_unit_test_setup_teardown(damage_is_survived, load_self, release_self),
	};

	if (getenv("TEST_EMULATED")) /* /proc/self/exe is the emulator's */
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
