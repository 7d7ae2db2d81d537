/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * The sampler resolves stubs: code-space addresses (which are never reused), names that must be in
 * the control ring before the first sample and once per process image, and cached unwind rows.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libprof/flameprof_stub.h"
#include "libprof/sampler/modules.h"
#include "libprof/sampler/sampler.h"
#include "libprof/trampoline/region.h"

#define SLOT 3u

static struct flameprof_arena *arena;
static uint64_t read_to; /* position in the control ring */

static void target(void)
{
}

static int setup(void **state)
{
	(void)state;
	sampler.arena = calloc(1, wire_arena_bytes(1));
	sampler.slot_index = SLOT;
	sampler.slot = wire_slot(sampler.arena, SLOT);
	sampler.image = 77;
	read_to = 0;
	return flameprof_arena_new(&arena, FLAMEPROF_STUB_CALL, target, NULL);
}

static int teardown(void **state)
{
	(void)state;
	flameprof_arena_free(arena);
	free(sampler.arena);
	sampler.arena = NULL;
	return 0;
}

static uintptr_t new_stub(const char *name)
{
	return (uintptr_t)flameprof_stub_new(arena, name, 0);
}

/*
 * Take the next committed record from the control ring and free its bytes. Returns NULL if there is
 * none.
 */
static const struct wire_code *next_record(void)
{
	static char copy[WIRE_CONTROL_BYTES];
	char *data = wire_control_data(sampler.arena, SLOT);
	uint32_t word, bytes;

	do {
		char *at = data + read_to % WIRE_CONTROL_BYTES;

		if (read_to == sampler.slot->control_head)
			return NULL;
		word = ((struct wire_control *)at)->word;
		bytes = word >> 8;
		assert_true(word && bytes);
		memcpy(copy, at, bytes);
		memset(at, 0, bytes);
		read_to += bytes;
		sampler.slot->control_tail = read_to;
	} while ((word & 0xff) == WIRE_CONTROL_PAD);
	assert_int_equal(word & 0xff, WIRE_CONTROL_CODE);
	return (const struct wire_code *)copy;
}

static void check_record(const struct unwind_module *module, const char *name)
{
	const struct wire_code *record = next_record();

	assert_non_null(record);
	assert_int_equal(record->space, module->start - module->bias);
	assert_int_equal(record->bytes, module->end - module->start);
	assert_int_equal(record->start, module->start);
	assert_int_equal(record->name_bytes, strlen(name) + 1);
	assert_string_equal(record->name, name);
}

/* Check that the .eh_frame of the table begins with a CIE. Source: LSB Core, "Exception Frames". */
static void check_table(uintptr_t table)
{
	const uint8_t *frames = (const uint8_t *)table + 4;
	int32_t offset;

	memcpy(&offset, frames, sizeof(offset));
	frames += offset;
	assert_memory_equal(frames + 4, "\0\0\0\0\1zR", 8);
}

static void test_announced_once_and_before(void **state)
{
	uintptr_t stub = new_stub("one");
	struct unwind_module module;

	(void)state;
	assert_int_equal(region_resolve(stub + 20, 0, &module), 0);
	assert_null(next_record());
	assert_int_equal(region_resolve(stub + 20, 1, &module), 0);
	assert_int_equal(module.number, WIRE_MODULE_CODE);
	assert_int_equal(module.start, stub);
	assert_true(module.end > stub + 20);
	assert_in_range(module.eh_frame_hdr, module.cfi_start, module.cfi_end - 1);
	check_table(module.eh_frame_hdr);
	check_record(&module, "one");
	assert_int_equal(region_resolve(stub, 1, &module), 0);
	assert_null(next_record());
	/* A fork child is another process image, so the name must be reported again. */
	sampler.image++;
	assert_int_equal(region_resolve(stub, 1, &module), 0);
	check_record(&module, "one");
	/* Without an arena no sampler reads names, so none is reported. */
	sampler.image++;
	free(sampler.arena);
	sampler.arena = NULL;
	assert_int_equal(region_resolve(stub, 1, &module), 0);
	assert_int_equal(region_resolve((uintptr_t)target, 1, &module), -ENOENT);
}

/*
 * A stub in reused memory has a new code-space address, so samples of the old and the new stub do
 * not mix.
 */
static void test_reuse_is_another_address(void **state)
{
	struct unwind_module before, after;
	uintptr_t stub = new_stub("before");

	(void)state;
	assert_int_equal(region_resolve(stub, 1, &before), 0);
	check_record(&before, "before");
	flameprof_stub_free(arena, (flameprof_function *)stub);
	assert_int_equal(region_resolve(stub, 1, &after), -ENOENT);
	assert_int_equal(new_stub("after"), stub);
	assert_int_equal(region_resolve(stub, 1, &after), 0);
	check_record(&after, "after");
	assert_int_not_equal(before.bias, after.bias);
	/* The code is equal, so both stubs share the cached unwind rows. */
	assert_int_equal(before.row_bias, after.row_bias);
}

static void test_rows_are_shared_by_equal_code_only(void **state)
{
	struct flameprof_signature words = {.stack_words = 3};
	struct unwind_module one, two, other;
	struct flameprof_arena *another;
	uintptr_t first = new_stub("1"), second = new_stub("2");

	(void)state;
	assert_int_equal(region_resolve(first, 0, &one), 0);
	assert_int_equal(region_resolve(second, 0, &two), 0);
	assert_int_equal(first - one.row_bias, second - two.row_bias);
	assert_int_not_equal(first - one.bias, second - two.bias);
	flameprof_arena_new(&another, FLAMEPROF_STUB_CALL, target, &words);
	first = (uintptr_t)flameprof_stub_new(another, "3", 0);
	assert_int_equal(region_resolve(first, 0, &other), 0);
	assert_int_not_equal(first - other.row_bias, second - two.row_bias);
	flameprof_arena_free(another);
	/*
	 * The next arena reuses the memory. Its code differs, so it has its own cached unwind rows.
	 */
	flameprof_arena_new(&another, FLAMEPROF_STUB_CALL, target, NULL);
	first = (uintptr_t)flameprof_stub_new(another, "4", 0);
	assert_int_equal(region_resolve(first, 0, &two), 0);
	assert_int_not_equal(first - other.row_bias, first - two.row_bias);
	flameprof_arena_free(another);
}

/*
 * Making the first region registers the regions with the search for modules, so that a walk also
 * finds code that is in no module.
 */
static void test_a_walk_finds_stubs_behind_modules(void **state)
{
	uintptr_t stub = new_stub("found");
	struct unwind_module module;

	(void)state;
	assert_int_equal(modules_find(stub + 20, &module), 0);
	assert_int_equal(module.number, WIRE_MODULE_CODE);
	assert_true(module.start == stub);
	check_record(&module, "found");
	assert_int_equal(modules_find((uintptr_t)target, &module), 0);
	assert_int_not_equal(module.number, WIRE_MODULE_CODE);
}

static void test_full_ring_is_tried_again(void **state)
{
	uintptr_t stub = new_stub("late");
	struct unwind_module module;

	(void)state;
	sampler.slot->control_head = read_to = WIRE_CONTROL_BYTES;
	assert_int_equal(region_resolve(stub, 1, &module), 0);
	assert_int_equal(sampler.slot->control_dropped, 1);
	sampler.slot->control_tail = WIRE_CONTROL_BYTES;
	assert_int_equal(region_resolve(stub, 1, &module), 0);
	check_record(&module, "late");
}

static void test_long_names(void **state)
{
	char name[FLAMEPROF_NAME_BYTES + 2];
	struct unwind_module module;
	uintptr_t stub;

	(void)state;
	memset(name, 'n', sizeof(name));
	name[FLAMEPROF_NAME_BYTES + 1] = '\0';
	stub = new_stub(name);
	name[FLAMEPROF_NAME_BYTES] = '\0';
	assert_int_equal(region_resolve(stub, 1, &module), 0);
	check_record(&module, name);
}

static int stop; /* atomic */

/* Make stubs one after the other in the same memory. The name of each is one letter repeated. */
static void *rename_on(void *argument)
{
	char name[200] = {0};

	(void)argument;
	for (unsigned i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		uintptr_t stub;

		memset(name, 'a' + (int)(i % 26), 20 + i % 170);
		name[20 + i % 170] = '\0';
		stub = new_stub(name);
		flameprof_stub_free(arena, (flameprof_function *)stub);
	}
	return NULL;
}

/*
 * Resolve an address at which other threads make and free stubs. The result must be the address of
 * one stub with its whole name, or nothing. No record may mix the letters of two names.
 */
static void test_names_are_never_torn(void **state)
{
	uintptr_t stub = new_stub("a");
	uint64_t last = 0, records = 0;
	struct unwind_module module = {0};
	pthread_t writer;

	(void)state;
	flameprof_stub_free(arena, (flameprof_function *)stub);
	__atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
	pthread_create(&writer, NULL, rename_on, NULL);
	while (records < (getenv("TEST_EMULATED") ? 20u : 2000u)) {
		const struct wire_code *record;
		int error = region_resolve(stub, 1, &module);

		record = next_record();
		if (!record)
			continue;
		records++;
		assert_false(error);
		/* A record of a stub that was freed in the meantime belongs to no frame. */
		if (record->space != module.start - module.bias)
			continue;
		assert_true(record->space > last);
		last = record->space;
		for (uint32_t k = 1; k + 1 < record->name_bytes; k++)
			assert_int_equal(record->name[k], record->name[0]);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(writer, NULL);
}

static void *number_on(void *argument)
{
	(void)argument;
	for (uintptr_t i = 1; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++)
		flameprof_stub_free(arena, flameprof_stub_new(arena, "n", i << 32));
	return NULL;
}

/*
 * All data found for an address must belong to one stub: the code-space address and the payload
 * change together.
 */
static void test_stubs_are_never_mixed(void **state)
{
	uintptr_t place = new_stub("first");
	struct region_stub stub, last = {0};
	unsigned met = 0;
	pthread_t writer;

	(void)state;
	flameprof_stub_free(arena, (flameprof_function *)place);
	__atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
	pthread_create(&writer, NULL, number_on, NULL);
	while (met < (getenv("TEST_EMULATED") ? 1000u : 1000000u)) {
		if (region_find_stub(place, &stub))
			continue;
		assert_int_equal(stub.space == last.space, stub.payload == last.payload);
		last = stub;
		met++;
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(writer, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_announced_once_and_before, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reuse_is_another_address, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_rows_are_shared_by_equal_code_only, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_walk_finds_stubs_behind_modules, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_ring_is_tried_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_are_never_torn, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stubs_are_never_mixed, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
