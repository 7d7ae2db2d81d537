/* SPDX-License-Identifier: MIT */
/*
 * The libraries of this test itself, and of damaged copies of it.
 */
#include "cli/run/needed.h"

#include <fcntl.h>
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

static const char *const cmocka[] = {"libnothing", "libcmocka.so", NULL};
static const char *const none[] = {"libnothing", "ibcmocka", NULL};

/* What admission.c would hand over for @bytes at @image, read from @descriptor. */
static struct needed_file describe(int descriptor, const void *image, size_t bytes)
{
	const ElfW(Ehdr) *header = image;
	struct needed_file file = {.descriptor = descriptor, .header = header};

	for (unsigned i = 0; i < header->e_phnum; i++) {
		ElfW(Phdr) segment;

		if (header->e_phoff > bytes || bytes - header->e_phoff < (i + 1) * sizeof(segment))
			break;
		memcpy(&segment, (const char *)image + header->e_phoff + i * sizeof(segment),
			sizeof(segment));
		if (segment.p_type != PT_DYNAMIC)
			continue;
		file.dynamic_offset = segment.p_offset;
		file.dynamic_bytes = segment.p_filesz;
	}
	return file;
}

static void *load_self(size_t *bytes)
{
	int descriptor = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat status;
	char *image;

	assert_true(descriptor >= 0);
	assert_int_equal(fstat(descriptor, &status), 0);
	image = malloc((size_t)status.st_size);
	assert_non_null(image);
	*bytes = (size_t)status.st_size;
	assert_int_equal(read(descriptor, image, *bytes), *bytes);
	close(descriptor);
	return image;
}

static int file_of(const void *image, size_t bytes)
{
	int descriptor = memfd_create("image", MFD_CLOEXEC);

	assert_true(descriptor >= 0);
	assert_int_equal(write(descriptor, image, bytes), bytes);
	return descriptor;
}

static void names_are_found_by_their_beginning(void **state)
{
	size_t bytes;
	void *image = load_self(&bytes);
	int descriptor = file_of(image, bytes);
	struct needed_file file = describe(descriptor, image, bytes);
	char name[NEEDED_BYTES] = "untouched";

	(void)state;
	assert_false(needed_find(&file, none, name));
	assert_string_equal(name, "untouched");
	assert_true(needed_find(&file, cmocka, name));
	assert_int_equal(strncmp(name, "libcmocka.so.", 13), 0);
	file.dynamic_bytes = 0;
	assert_false(needed_find(&file, cmocka, name));
	close(descriptor);
	free(image);
}

static void a_file_cut_short_has_none(void **state)
{
	size_t bytes;
	void *image = load_self(&bytes);
	int descriptor = file_of(image, bytes);
	struct needed_file file = describe(descriptor, image, bytes);
	char name[NEEDED_BYTES];

	(void)state;
	assert_int_equal(ftruncate(descriptor, (off_t)file.dynamic_offset), 0);
	assert_false(needed_find(&file, cmocka, name));
	close(descriptor);
	free(image);
}

/* Every answer is allowed; what counts is that the sanitizers and the loop's end see nothing. */
static void damage_is_survived(void **state)
{
	size_t bytes;
	unsigned char *image = load_self(&bytes);
	const ElfW(Ehdr) *header = (const void *)image;
	int descriptor = file_of(image, bytes);
	size_t headers_end = header->e_phoff + header->e_phnum * sizeof(ElfW(Phdr));
	struct needed_file sound = describe(descriptor, image, bytes);
	char name[NEEDED_BYTES];

	(void)state;
	srand(1);
	for (int round = 0; round < 20000; round++) {
		bool in_dynamic = rand() % 2;
		size_t low = in_dynamic ? sound.dynamic_offset : header->e_phoff;
		size_t count = in_dynamic ? sound.dynamic_bytes : headers_end - header->e_phoff;
		size_t at = low + (size_t)rand() % count;
		unsigned char wrong = (unsigned char)rand();
		struct needed_file file;

		assert_int_equal(pwrite(descriptor, &wrong, 1, (off_t)at), 1);
		file = sound;
		file.dynamic_offset += (uint64_t)(rand() % 3 ? 0 : rand());
		file.dynamic_bytes = rand() % 3 ? file.dynamic_bytes : UINT64_MAX;
		if (needed_find(&file, cmocka, name))
			assert_true(strlen(name) < NEEDED_BYTES);
		if (rand() % 4)
			assert_int_equal(pwrite(descriptor, image + at, 1, (off_t)at), 1);
	}
	close(descriptor);
	free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_found_by_their_beginning),
		cmocka_unit_test(a_file_cut_short_has_none),
		cmocka_unit_test(damage_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
