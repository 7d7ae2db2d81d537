/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Read the starts and ends of functions from call-frame information, and compare them with this
 * program's own functions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>

#include "cli/symbols/functions.h"
#include "cli/symbols/symbols.h"

__attribute__((noinline)) static int first(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n * 3 + 1;
}

__attribute__((noinline)) static int second(int n)
{
	return first(n) + first(n + 1);
}

static int take_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(uintptr_t *)bias = info->dlpi_addr;
	return 1;
}

/* Convert the address of something in this program to an ELF virtual address. */
static uint64_t here(const void *address)
{
	uintptr_t bias = 0;

	dl_iterate_phdr(take_bias, &bias);
	return (uintptr_t)address - bias;
}

static struct functions *own_functions(void)
{
	struct elf_file image;
	struct functions *functions;

	assert_int_equal(elf_file_open(&image, "/proc/self/exe", 0), 0);
	assert_int_equal(functions_read(&functions, &image), 0);
	elf_file_close(&image);
	return functions;
}

static void every_byte_belongs_to_its_function(void **state)
{
	struct functions *functions = own_functions();
	const void *known[] = {(void *)(uintptr_t)first, (void *)(uintptr_t)second};
	uint64_t start;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		for (unsigned byte = 0; byte < 5; byte++) {
			assert_int_equal(
				functions_find(functions, here(known[i]) + byte, &start), 0);
			assert_int_equal(start, here(known[i]));
		}
	}
	functions_free(functions);
}

static void nobody_owns_what_is_no_code(void **state)
{
	struct functions *functions = own_functions();
	uint64_t start = 42;

	(void)state;
	assert_int_equal(functions_find(functions, 0, &start), -ENOENT);
	assert_int_equal(functions_find(functions, here(&start), &start), -ENOENT);
	assert_int_equal(functions_find(functions, UINT64_MAX, &start), -ENOENT);
	assert_int_equal(start, 42);
	functions_free(functions);
}

static void an_end_is_a_functions_own_or_the_next_ones_begin(void **state)
{
	struct functions *functions = own_functions();
	uint64_t begin = here((void *)(uintptr_t)first), end = functions_end(functions, begin);
	uint64_t start, gap = functions_end(functions, 0);

	(void)state;
	assert_in_range(end, begin + 5, begin + 64);
	assert_int_equal(functions_end(functions, end - 1), end);
	assert_int_equal(functions_find(functions, gap, &start), 0);
	assert_int_equal(start, gap);
	assert_int_equal(functions_end(functions, UINT64_MAX), UINT64_MAX);
	functions_free(functions);
}

static void a_broken_section_is_survived(void **state)
{
	FILE *file = fopen("/proc/self/exe", "rb");
	char *bytes = malloc(64 << 20);
	size_t size = fread(bytes, 1, 64 << 20, file);
	uint64_t random = 42, start;

	(void)state;
	fclose(file);
	for (int round = 0; round < 200; round++) {
		struct elf_file image;
		struct functions *functions = NULL;
		char *copy = malloc(size);

		memcpy(copy, bytes, size);
		for (int i = 0; i < 300; i++) {
			random = random * 6364136223846793005ULL + 1442695040888963407ULL;
			copy[(random >> 20) % size] = (char)(random >> 56);
		}
		if (elf_file_init_memory(&image, copy, size)) {
			free(copy);
			continue;
		}
		assert_int_equal(functions_read(&functions, &image), 0);
		functions_find(functions, here((void *)(uintptr_t)first), &start);
		functions_free(functions);
		elf_file_close(&image);
	}
	free(bytes);
}

static void a_module_answers_by_handle(void **state)
{
	struct symbols *symbols = symbols_new();
	int handle = symbols_add_module(
		symbols, &(struct symbols_module){.path = "/proc/self/exe"});
	int missing = symbols_add_module(symbols, &(struct symbols_module){.path = "/nowhere"});
	uint64_t start = 0;

	(void)state;
	assert_int_equal(second(1), 11);
	assert_int_equal(
		symbols_function(symbols, handle, here((void *)(uintptr_t)second) + 3, &start), 0);
	assert_int_equal(start, here((void *)(uintptr_t)second));
	assert_int_equal(symbols_function(symbols, missing, start, &start), -ENOENT);
	assert_int_equal(symbols_function(symbols, -1, start, &start), -ENOENT);
	symbols_free(symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_belongs_to_its_function),
		cmocka_unit_test(nobody_owns_what_is_no_code),
		cmocka_unit_test(an_end_is_a_functions_own_or_the_next_ones_begin),
		cmocka_unit_test(a_broken_section_is_survived),
		cmocka_unit_test(a_module_answers_by_handle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
