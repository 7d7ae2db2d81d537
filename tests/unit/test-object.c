/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Read this process's memory through the page cache, and read libc's file. Compare the results with
 * elfutils's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <elfutils/libdwelf.h>

#include "cli/outside/object.h"

/* Map three pages. The last page cannot be read. */
static char *make_pages(void)
{
	char *pages = mmap(
		NULL, 3 * MEMORY_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(pages, MAP_FAILED);
	for (unsigned i = 0; i < 2 * MEMORY_PAGE; i++)
		pages[i] = (char)(i * 7);
	assert_int_equal(mprotect(pages + 2 * MEMORY_PAGE, MEMORY_PAGE, PROT_NONE), 0);
	return pages;
}

/* Skip the test if process_vm_readv(2) is refused, as in some containers and under qemu-user. */
static void skip_without_remote_reads(void)
{
	char byte;

	if (memory_copy(getpid(), (uintptr_t)&skip_without_remote_reads, &byte, 1) < 0)
		skip();
}

static void test_reads_words_wherever_they_lie(void **state)
{
	struct memory *memory;
	char *pages;
	uintptr_t value, expected;

	(void)state;
	skip_without_remote_reads();
	memory = malloc(sizeof(*memory));
	pages = make_pages();
	memory_begin(memory, getpid());
	for (unsigned at = 0; at <= 2 * MEMORY_PAGE - sizeof(value); at++) {
		assert_int_equal(memory_word(memory, (uintptr_t)pages + at, &value), 0);
		memcpy(&expected, pages + at, sizeof(expected));
		assert_int_equal(value, expected);
	}
	for (unsigned beyond = 1; beyond <= sizeof(value); beyond++) {
		value = 42;
		assert_true(memory_word(memory,
				    (uintptr_t)pages + 2 * MEMORY_PAGE - sizeof(value) + beyond,
				    &value) < 0);
		assert_int_equal(value, 42);
	}
	munmap(pages, 3 * MEMORY_PAGE);
	free(memory);
}

static void test_forgets_between_walks(void **state)
{
	struct memory *memory;
	char *pages;
	uintptr_t before, after;

	(void)state;
	skip_without_remote_reads();
	memory = malloc(sizeof(*memory));
	pages = make_pages();
	memory_begin(memory, getpid());
	assert_int_equal(memory_word(memory, (uintptr_t)pages, &before), 0);
	pages[0]++;
	assert_int_equal(memory_word(memory, (uintptr_t)pages, &after), 0);
	assert_int_equal(before, after); /* kept: its owner is stopped */
	memory_begin(memory, getpid());
	assert_int_equal(memory_word(memory, (uintptr_t)pages, &after), 0);
	assert_int_not_equal(before, after);
	munmap(pages, 3 * MEMORY_PAGE);
	free(memory);
}

static void test_hostile_addresses(void **state)
{
	static const uintptr_t addresses[] = {0, 1, 4095, UINTPTR_MAX, UINTPTR_MAX - 7,
		UINTPTR_MAX - 8, UINTPTR_MAX - 4096, UINTPTR_MAX / 2, 1UL << 47};
	struct memory *memory = malloc(sizeof(*memory));
	uintptr_t value;
	char bytes[64];

	(void)state;
	memory_begin(memory, getpid());
	for (unsigned i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		assert_true(memory_word(memory, addresses[i], &value) < 0);
		assert_true(memory_copy(getpid(), addresses[i], bytes, sizeof(bytes)) < 0);
	}
	free(memory);
}

/*
 * The build-id, by which debugging symbols are found, must equal the build-id that elfutils reads.
 */
static void test_build_id(void **state)
{
	struct maps maps = {0};
	struct objects objects = {0};
	const struct mapping *code, *first;
	const struct object *object;
	const void *expected;
	ssize_t bytes;
	int fd;
	Elf *elf;

	(void)state;
	assert_int_equal(maps_read(&maps, getpid()), 1);
	code = maps_find(&maps, (uintptr_t)&qsort);
	assert_non_null(code);
	for (first = code; first->offset; first--)
		assert_true(first > maps.list);
	object = objects_find(&objects, getpid(), code, first);
	assert_non_null(object);
	fd = open(code->path, O_RDONLY);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	bytes = dwelf_elf_gnu_build_id(elf, &expected);
	assert_true(bytes > 0);
	assert_int_equal(object->build_id_bytes, bytes);
	assert_memory_equal(object->build_id, expected, (size_t)bytes);
	elf_end(elf);
	close(fd);
	objects_release(&objects);
	maps_release(&maps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_words_wherever_they_lie),
		cmocka_unit_test(test_forgets_between_walks),
		cmocka_unit_test(test_hostile_addresses),
		cmocka_unit_test(test_build_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
