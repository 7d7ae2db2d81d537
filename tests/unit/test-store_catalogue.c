/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Read control records into the catalogue of names, and use the names in profiles whose stacks
 * refer to them.
 */
#include "tests/unit/aggregate-fixture.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libprof/profile/lookup.h"
#include "libprof/profile/profile.h"
#include "libprof/sampler/ring.h"

#define SLOT 3
#define MIB  (1u << 20)

struct fixture {
	void *arena;
	struct store_catalogue *catalogue;
	struct flameprof_profile *profile;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->arena = calloc(1, wire_arena_bytes(1));
	f->catalogue = store_catalogue_new();
	f->profile = aggregate_profile(MIB);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	flameprof_profile_free(f->profile);
	store_catalogue_free(f->catalogue);
	free(f->arena);
	free(f);
	assert_int_equal(pages_mapped_bytes, 0);
	return 0;
}

static void *reserve(struct fixture *f, size_t bytes)
{
	return control_reserve(wire_slot(f->arena, SLOT), wire_control_data(f->arena, SLOT),
		(uint32_t)(bytes + 7) & ~7u);
}

static void commit(void *record, size_t bytes, enum wire_control_type type)
{
	control_commit(record, (uint32_t)(bytes + 7) & ~7u, type);
}

static struct wire_module *announce(struct fixture *f, uint32_t number, uint64_t start,
	uint64_t bias, const char *path)
{
	size_t bytes = sizeof(struct wire_module) + strlen(path) + 1;
	struct wire_module *module = reserve(f, bytes);

	assert_non_null(module);
	module->number = number;
	module->start = start;
	module->end = start + 0x10000;
	module->bias = bias;
	module->build_id_bytes = 20;
	memset(module->build_id, (int)number, 20);
	module->flags = 0;
	module->path_bytes = (uint32_t)strlen(path) + 1;
	strcpy(module->path, path);
	commit(module, bytes, WIRE_CONTROL_MODULE);
	return module;
}

static void announce_code(struct fixture *f, uint64_t space, uint64_t n, uint64_t start,
	const char *name)
{
	size_t bytes = sizeof(struct wire_code) + strlen(name) + 1;
	struct wire_code *code = reserve(f, bytes);

	assert_non_null(code);
	code->space = space;
	code->bytes = n;
	code->start = start;
	code->name_bytes = (uint32_t)strlen(name) + 1;
	strcpy(code->name, name);
	commit(code, bytes, WIRE_CONTROL_CODE);
}

static void mark(struct fixture *f, uint64_t time_ns, const char *name)
{
	size_t bytes = sizeof(struct wire_mark) + strlen(name) + 1;
	struct wire_mark *record = reserve(f, bytes);

	assert_non_null(record);
	record->time_ns = time_ns;
	record->tid = 77;
	record->name_bytes = (uint32_t)strlen(name) + 1;
	strcpy(record->name, name);
	commit(record, bytes, WIRE_CONTROL_MARK);
}

static void sample(struct fixture *f, const uint64_t *frames, unsigned n)
{
	struct batch_maker maker;

	batch_begin(&maker, 10, "worker");
	batch_add(&maker, 1, 1, frames, n);
	batch_store(&maker, f->profile);
}

static unsigned read_control(struct fixture *f)
{
	return store_read_control(f->catalogue, f->arena, SLOT, f->profile);
}

static uint32_t count_modules(const struct fixture *f)
{
	struct flameprof_profile_summary info;

	flameprof_profile_info(f->profile, &info);
	return info.modules;
}

#define CODE(space) WIRE_FRAME(WIRE_MODULE_CODE, space)

static void a_profile_gets_what_its_stacks_name_and_no_more(void **state)
{
	struct fixture *f = *state;
	struct flameprof_module module;
	struct flameprof_frame frames[8];

	announce(f, 1, 0x10000, 0, "/bin/a");
	announce(f, 2, 0x7f0000, 0x7f0000, "/lib/b.so");
	announce(f, 3, 0x8f0000, 0x8f0000, "/lib/c.so");
	announce_code(f, 1000, 100, 0x55000, "method one");
	announce_code(f, 1100, 100, 0x66000, "method two");
	assert_int_equal(read_control(f), 5);
	sample(f, FRAMES(CODE(1142), WIRE_FRAME(3, 0x40), WIRE_FRAME(1, 0x10020), 0xabc,
			 WIRE_FRAME(9, 5), WIRE_FRAME(WIRE_MODULE_OVER, 5), CODE(1200)));
	assert_int_equal(store_resolve(f->profile, f->catalogue), 0);
	/* Modules are in the order of their first use in a stack, from the root. */
	assert_int_equal(count_modules(f), 2);
	assert_int_equal(flameprof_profile_module(f->profile, 0, &module), 0);
	assert_string_equal(module.path, "/bin/a");
	assert_int_equal(module.build_id_bytes, 20);
	assert_int_equal(module.build_id[19], 1);
	assert_int_equal(flameprof_profile_module(f->profile, 1, &module), 0);
	assert_string_equal(module.path, "/lib/c.so");
	assert_int_equal(module.bias, 0x8f0000);
	assert_int_equal(module.end, 0x900000);
	assert_int_equal(flameprof_profile_module(f->profile, 2, &module), -ERANGE);
	assert_int_equal(f->profile->names.code_count, 1);

	assert_int_equal(flameprof_profile_frames(f->profile, 0, frames, 8), 7);
	assert_string_equal(frames[0].name, "method two");
	assert_int_equal(frames[0].address, 0x66000 + 42);
	assert_int_equal(frames[0].module, FLAMEPROF_NONE);
	assert_null(frames[1].name);
	assert_int_equal(frames[1].address, 0x8f0040);
	assert_int_equal(frames[1].module, 1);
	assert_int_equal(frames[2].address, 0x10020);
	assert_int_equal(frames[2].module, 0);
	assert_int_equal(frames[3].address, 0xabc);
	assert_int_equal(frames[3].module, FLAMEPROF_NONE);
	for (unsigned i = 4; i < 7; i++) {
		assert_int_equal(frames[i].address, 0);
		assert_int_equal(frames[i].module, FLAMEPROF_NONE);
		assert_null(frames[i].name);
	}
}

static void what_is_known_stays_known(void **state)
{
	struct fixture *f = *state;
	struct flameprof_module module;

	announce(f, 1, 0x10000, 0, "/bin/a");
	read_control(f);
	announce(f, 1, 0x90000, 0, "/bin/other");
	read_control(f);
	sample(f, FRAMES(WIRE_FRAME(1, 1)));
	assert_int_equal(store_resolve(f->profile, f->catalogue), 0);
	assert_int_equal(store_resolve(f->profile, f->catalogue), 0);
	assert_int_equal(count_modules(f), 1);
	flameprof_profile_module(f->profile, 0, &module);
	assert_string_equal(module.path, "/bin/a");
}

static void code_is_found_in_whatever_order_it_came(void **state)
{
	struct fixture *f = *state;
	uint64_t frames[200];
	struct flameprof_frame got[200];
	char name[32];

	for (unsigned i = 0; i < 200; i++) {
		unsigned k = i * 73 % 200;

		snprintf(name, sizeof(name), "f%u", k);
		announce_code(f, 5000 + 10 * k, 10, 0x1000, name);
		frames[i] = CODE(5000 + 10 * i + 3);
		if (i % 50 == 49)
			assert_int_equal(read_control(f), 50);
	}
	sample(f, frames, 200);
	assert_int_equal(store_resolve(f->profile, f->catalogue), 0);
	assert_int_equal(flameprof_profile_frames(f->profile, 0, got, 200), 200);
	for (unsigned i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		assert_string_equal(got[i].name, name);
		assert_int_equal(got[i].address, 0x1003);
	}
	assert_int_equal(store_catalogue_lost(f->catalogue), 0);
	/*
	 * Reporting a function a second time changes nothing. Overlapping and empty ranges are
	 * refused.
	 */
	announce_code(f, 5000, 10, 0x1000, "again");
	announce_code(f, 5005, 1, 0x1000, "inside");
	announce_code(f, 4990, 11, 0x1000, "into");
	announce_code(f, 9000, 0, 0x1000, "empty");
	announce_code(f, UINT64_MAX - 1, 10, 0x1000, "around");
	read_control(f);
	assert_int_equal(store_catalogue_lost(f->catalogue), 4);
	assert_int_equal(names_find_code(&f->profile->names, 4999), 0);
	assert_int_equal(names_find_code(&f->profile->names, 7000), 0);
	assert_int_equal(names_find_code(&f->profile->names, 6999), 200);
}

static void marks_go_to_the_profile_of_their_time(void **state)
{
	struct fixture *f = *state;
	struct flameprof_mark got;

	mark(f, 123, "phase one");
	mark(f, 124, "");
	assert_int_equal(read_control(f), 2);
	assert_int_equal(flameprof_profile_mark(f->profile, 0, &got), 0);
	assert_int_equal(got.time_ns, 123);
	assert_int_equal(got.tid, 77);
	assert_string_equal(got.name, "phase one");
	assert_int_equal(flameprof_profile_mark(f->profile, 1, &got), 0);
	assert_string_equal(got.name, "");
	assert_int_equal(flameprof_profile_mark(f->profile, 2, &got), -ERANGE);
	mark(f, 125, "lost");
	assert_int_equal(store_read_control(f->catalogue, f->arena, SLOT, NULL), 1);
	assert_int_equal(store_catalogue_lost(f->catalogue), 1);
	assert_int_equal(store_catalogue_read_lost_marks(f->catalogue), 1);
	assert_int_equal(store_catalogue_read_lost_marks(f->catalogue), 0);
}

static void lies_are_harmless(void **state)
{
	struct fixture *f = *state;
	struct wire_module *module;
	struct flameprof_module got;

	announce(f, 1, 0x10000, 0, "/a")->path_bytes = 5000;
	announce(f, 2, 0x10000, 0, "/b")->path_bytes = 0;
	announce(f, 3, 0x10000, 0, "/c")->build_id_bytes = 33;
	announce(f, WIRE_MODULE_CODE, 0x10000, 0, "/d");
	announce(f, 0, 0x10000, 0, "/e");
	announce(f, 0xffffffff, 0x10000, 0, "/f");
	announce(f, 4, 0x10000, 0, "/g")->end = 5;
	module = announce(f, 5, 0x10000, 0, "/h is cut");
	module->path_bytes = 3;
	commit(reserve(f, 16), 16, 99);
	commit(reserve(f, 8), 8, WIRE_CONTROL_MODULE);
	read_control(f);
	sample(f, FRAMES(WIRE_FRAME(1, 1), WIRE_FRAME(2, 1), WIRE_FRAME(3, 1), WIRE_FRAME(4, 1),
			 WIRE_FRAME(5, 1)));
	assert_int_equal(store_resolve(f->profile, f->catalogue), 0);
	assert_int_equal(count_modules(f), 1);
	flameprof_profile_module(f->profile, 0, &got);
	assert_string_equal(got.path, "/h");
	assert_int_equal(store_catalogue_lost(f->catalogue), 4);
	/* If a record's length leads nowhere, reading ends there. */
	announce(f, 6, 0x10000, 0, "/i")->control.word = 12 << 8 | WIRE_CONTROL_MODULE;
	announce(f, 7, 0x10000, 0, "/j");
	assert_int_equal(read_control(f), 0);
	assert_int_equal(read_control(f), 0);
}

static void a_full_profile_still_gets_its_names(void **state)
{
	struct fixture *f = *state;
	struct flameprof_module module;
	struct batch_maker maker;
	uint64_t frames[1000], next = 0;
	struct store_result result;

	flameprof_profile_free(f->profile);
	f->profile = aggregate_profile(65536);
	announce(f, 1, 0x10000, 0, "/bin/a");
	read_control(f);
	do {
		batch_begin(&maker, 10, "worker");
		for (unsigned i = 0; i < 1000; i++)
			frames[i] = WIRE_FRAME(1, ++next);
		batch_add(&maker, 1, 1, frames, 1 + next % 1000);
		result = batch_store(&maker, f->profile);
	} while (!result.full_samples);
	assert_int_equal(store_resolve(f->profile, f->catalogue), 0);
	assert_int_equal(flameprof_profile_module(f->profile, 0, &module), 0);
}

static void failing_memory_loses_names_only(void **state)
{
	struct fixture *f = *state;

	for (uint32_t n = 1; n <= 200; n++) {
		struct store_catalogue *catalogue;
		char name[32];

		memset(wire_slot(f->arena, SLOT), 0, sizeof(struct wire_slot));
		memset(wire_control_data(f->arena, SLOT), 0, WIRE_CONTROL_BYTES);
		flameprof_profile_free(f->profile);
		f->profile = aggregate_profile(MIB);
		for (unsigned i = 1; i <= 40; i++) {
			snprintf(name, sizeof(name), "/lib/%u", i);
			announce(f, i * 100, i << 20, 0, name);
			announce_code(f, i * 10, 5, i, name);
			mark(f, i, name);
			sample(f, FRAMES(CODE(i * 10), WIRE_FRAME(i * 100, 1)));
		}
		pages_fail_in = n;
		catalogue = store_catalogue_new();
		if (catalogue) {
			assert_int_equal(store_read_control(
				catalogue, f->arena, SLOT, f->profile), 120);
			store_resolve(f->profile, catalogue);
			pages_fail_in = 0;
			/* The allocation that failed may succeed the next time. */
			if (!store_catalogue_lost(catalogue)) {
				assert_int_equal(store_resolve(f->profile, catalogue), 0);
				assert_int_equal(count_modules(f), 40);
				assert_int_equal(f->profile->names.code_count, 40);
			}
		} else {
			assert_int_equal(n, 1);
		}
		pages_fail_in = 0;
		store_catalogue_free(catalogue);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_profile_gets_what_its_stacks_name_and_no_more),
		TEST(what_is_known_stays_known),
		TEST(code_is_found_in_whatever_order_it_came),
		TEST(marks_go_to_the_profile_of_their_time),
		TEST(lies_are_harmless),
		TEST(a_full_profile_still_gets_its_names),
		TEST(failing_memory_loses_names_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
