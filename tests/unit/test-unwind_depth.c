/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/*
 * Compare the offsets of stack pointer and frame pointer that stack_depth.h computes from
 * instructions with the call-frame information of all functions of some libraries.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/registers.h"
#include "libprof/unwind/cfi_run.h"
#include "libprof/unwind/memory.h"
#include "libprof/unwind/stack_depth.h"

static unsigned long places, known, differences, functions;

static int load(const void *context, uintptr_t address, uintptr_t *word)
{
	(void)context;
	memcpy(word, (const void *)address, sizeof(*word));
	return 0;
}

/*
 * Compare the offset that the code determines with the offset that the call-frame information says,
 * at one instruction. Both are relative to the stack pointer at the function's entry.
 */
static void compare(
	const struct unwind_module *module, const struct depth_search *search, uint32_t offset)
{
	const struct depth_state *state = &search->states[search->at[offset]];
	struct cfi_row row;
	int32_t expected;
	bool is_sp;

	if (!search->at[offset] || cfi_find_row(module, search->begin + offset, &row) ||
		row.rules.cfa_expression)
		return;
	is_sp = row.rules.cfa_reg == ARCH_DWARF_SP;
	if (!is_sp && row.rules.cfa_reg != ARCH_DWARF_FP)
		return;
	expected = (int32_t)ARCH_ENTRY_CFA - row.rules.cfa_value;
	places++;
	if (!(is_sp ? state->has_sp && !state->align : state->has_fp))
		return;
	known++;
	if ((is_sp ? state->sp : state->fp) == expected)
		return;
	if (differences++ < 10)
		print_error("%#lx: %s at %d, by information %d\n",
			(unsigned long)(search->begin + offset - module->bias), is_sp ? "sp" : "fp",
			is_sp ? state->sp : state->fp, expected);
}

static void compare_function(const struct unwind_module *module, uintptr_t begin)
{
	const struct arch_text text = {module->start, module->end, load, NULL};
	struct depth_search *search;
	struct stack_depth depth;
	struct cfi_fde fde;
	struct cfi_row row;

	/* Whole functions only. */
	if (cfi_find_fde(module, begin, &fde) || fde.begin != begin ||
		fde.end - fde.begin > DEPTH_CODE_MAX || cfi_find_row(module, begin, &row) ||
		row.signal || row.rules.cfa_expression || row.rules.cfa_reg != ARCH_DWARF_SP ||
		row.rules.cfa_value != (int32_t)ARCH_ENTRY_CFA)
		return;
	functions++;
	search = depth_begin(&text, begin, fde.end, 0);
	depth_branch(search, 0, depth_intern(search, &(struct depth_state){.has_sp = true}));
	depth_follow_all(search);
	if (search->has_failed)
		return;
	for (uint32_t offset = 0; offset < search->bytes; offset++)
		compare(module, search, offset);
	/* Also search for the stack depth at the entry. Any result is allowed. */
	(void)stack_depth_find(&text, begin, fde.end, begin, true, &depth);
}

/* Read the linker's .eh_frame_hdr table: pairs of numbers relative to the table's start. */
static void compare_module(const void *address)
{
	struct unwind_module module;
	const uint8_t *header;
	uint32_t count;

	places = known = differences = functions = 0;
	assert_int_equal(unwind_find_object((uintptr_t)address, &module, NULL), 0);
	header = (const uint8_t *)module.eh_frame_hdr;
	assert_int_equal(header[3], 0x3b);
	memcpy(&count, header + 8, sizeof(count));
	for (uint32_t i = 0; i < count; i++) {
		int32_t begin;

		memcpy(&begin, header + 12 + 8 * (size_t)i, sizeof(begin));
		compare_function(&module, module.eh_frame_hdr + (uintptr_t)(intptr_t)begin);
	}
	print_message("%lu functions: %lu places, %lu known, %lu differ\n", functions, places,
		known, differences);
	assert_true(places > 1000);
	assert_in_range(known * 100, places * 96, places * 100);
	/*
	 * The call-frame information of start code and of context switches describes no stack, so a
	 * few differences are allowed.
	 */
	assert_in_range(differences * 300, 0, places);
}

int main(void);

static void test_the_c_library(void **state)
{
	(void)state;
	compare_module((const void *)qsort);
}

static void test_cmocka_and_this_program(void **state)
{
	(void)state;
	compare_module((const void *)(uintptr_t)main);
}

static void test_libstdcxx(void **state)
{
	void *library = dlopen("libstdc++.so.6", RTLD_NOW);

	(void)state;
	if (!library)
		skip();
	compare_module(dlsym(library, "_ZSt9terminatev"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_c_library),
		cmocka_unit_test(test_cmocka_and_this_program),
		cmocka_unit_test(test_libstdcxx),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
