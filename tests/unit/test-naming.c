/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Test the names that programs report for code, marks and frames, and the limits on their number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "cli/profile/naming.h"
#include "cli/profile/picture_names.h"

struct fixture {
	struct flameprof_profile *profile;
	uint32_t image;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->profile = profile_new(&(struct profile_config){.period_ns = 5000000});
	fixture->image = profile_image(fixture->profile, 1);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	profile_free(fixture->profile);
	free(fixture);
	return 0;
}

static int add_code(struct fixture *fixture, uint64_t space, uint64_t size, const char *name)
{
	const struct names_code code = {.space = space, .bytes = size, .start = 0x1000};

	return profile_add_code(fixture->profile, fixture->image, &code, name, "");
}

static int add_mark(struct fixture *fixture, uint64_t time_ns, const char *name)
{
	return profile_add_mark(fixture->profile, time_ns, 77, name);
}

static const char *name_in(struct fixture *fixture, uint32_t image, uint64_t address)
{
	const struct names_code *code = profile_code_at(fixture->profile, image, address);

	return code ? names_string(profile_names(fixture->profile, image), code->name) : NULL;
}

static const char *name_at(struct fixture *fixture, uint64_t address)
{
	return name_in(fixture, fixture->image, address);
}

static void test_code_is_found_by_its_stretch(void **state)
{
	struct fixture *fixture = *state;

	assert_null(name_at(fixture, 100));
	add_code(fixture, 300, 50, "third");
	add_code(fixture, 100, 50, "first");
	assert_string_equal(name_at(fixture, 100), "first");
	assert_string_equal(name_at(fixture, 149), "first");
	assert_null(name_at(fixture, 99));
	assert_null(name_at(fixture, 150));
	assert_string_equal(name_at(fixture, 349), "third");
	add_code(fixture, 150, 1, "second"); /* added after the first lookup */
	assert_string_equal(name_at(fixture, 150), "second");
	/* Another process has other code at the same address. */
	fixture->image = profile_image(fixture->profile, 2);
	assert_null(name_at(fixture, 100));
	add_code(fixture, 100, 50, "its own");
	assert_string_equal(name_at(fixture, 149), "its own");
	assert_string_equal(name_in(fixture, 0, 149), "first");
}

static void test_odd_code_is_harmless(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(add_code(fixture, 100, 50, "old"), 0);
	assert_int_equal(add_code(fixture, 100, 50, "new"), 0);
	assert_string_equal(name_at(fixture, 120), "old");
	assert_int_equal(add_code(fixture, 200, 0, "no bytes"), 0);
	assert_int_equal(add_code(fixture, 300, 9, ""), 0);
	assert_null(name_at(fixture, 200));
	assert_null(name_at(fixture, 300));
	assert_int_equal(add_code(fixture, UINT64_MAX - 1, UINT64_MAX, "beyond the end"), -EINVAL);
	assert_null(name_at(fixture, UINT64_MAX));
	assert_int_equal(add_code(fixture, 90, 11, "into another"), -EINVAL);
	assert_null(name_at(fixture, 99));
	assert_int_equal(profile_error(fixture->profile), 0);
}

/* Check the frames' names when named generated code calls unnamed generated code. */
static void test_frames_get_the_names(void **state)
{
	struct fixture *fixture = *state;
	const struct naming_request request = {.profile = fixture->profile};
	struct naming_report report;
	struct calltree *tree;
	const struct wire_sample sample = {
		.thread = 1, .time_ns = 1000, .weight = 3, .frames = 2};
	const uint64_t frames[] = {
		WIRE_FRAME(WIRE_MODULE_CODE, 9999), WIRE_FRAME(WIRE_MODULE_CODE, 4100)};

	add_code(fixture, 4096, 64, "lambda (x)");
	assert_int_equal(profile_add(fixture->profile, fixture->image, &sample, frames), 0);
	assert_int_equal(naming_build(&request, &tree, &report), 0);
	assert_int_equal(calltree_nodes(tree), 3);
	const struct calltree_frame *outer =
		calltree_frame_at(tree, calltree_node_at(tree, 1)->frame);
	const struct calltree_frame *inner =
		calltree_frame_at(tree, calltree_node_at(tree, 2)->frame);

	assert_string_equal(outer->name, "lambda (x)");
	assert_string_equal(outer->module, "");
	assert_int_equal(outer->kind, CALLTREE_JIT);
	assert_string_equal(inner->name, "[unknown code]");
	assert_int_equal(inner->kind, CALLTREE_UNNAMED);
	assert_int_equal(report.sources.count, 1);
	assert_string_equal(report.sources.rows[0].name, "code that programs reported");
	assert_int_equal(report.sources.rows[0].share.weight, 3);
	assert_int_equal(report.sources.rows[0].share.named, 0);
	calltree_free(tree);
	sources_release(&report.sources);
}

/*
 * Returns the kind of wait of a thread that waits in futex(2), called by native code that a
 * function @name called.
 */
static const char *kind_below(const char *name)
{
	struct fixture fixture = {profile_new(&(struct profile_config){.period_ns = 5000000}), 0};
	const struct naming_request request = {.profile = fixture.profile};
	const struct wire_sample sample = {
		.thread = 1, .time_ns = 1000, .weight = 3, .frames = 3, .kind = WIRE_KIND_WAIT};
	const struct names_code code = {.space = WIRE_LANGUAGE_BIT | WIRE_LANGUAGE_LINES,
		.bytes = WIRE_LANGUAGE_LINES,
		.start = 1,
		.flags = WIRE_FUNCTION_LINES};
	const uint64_t frames[] = {WIRE_FRAME_WAIT(SYS_futex, 0),
		WIRE_FRAME(WIRE_MODULE_NONE, 4096), wire_language_frame(code.space, 1, 1)};
	const struct calltree_frame *leaf;
	struct naming_report report;
	struct calltree *tree;
	static char kind[16];

	fixture.image = profile_image(fixture.profile, 1);
	assert_int_equal(profile_add_code(fixture.profile, fixture.image, &code, name, ""), 0);
	assert_int_equal(profile_add(fixture.profile, fixture.image, &sample, frames), 0);
	assert_int_equal(naming_build(&request, &tree, &report), 0);
	leaf = calltree_frame_at(tree, calltree_node_at(tree, calltree_nodes(tree) - 1)->frame);
	assert_int_equal(leaf->kind, CALLTREE_WAIT);
	assert_string_equal(leaf->name, "[futex]");
	snprintf(kind, sizeof(kind), "%s", leaf->module);
	calltree_free(tree);
	sources_release(&report.sources);
	profile_free(fixture.profile);
	return kind;
}

static void test_a_language_may_sleep_by_any_call(void **state)
{
	(void)state;
	assert_string_equal(kind_below("java.lang.Thread.sleep"), "sleep");
	assert_string_equal(kind_below("java.lang.Thread.sleepy"), "lock");
	assert_string_equal(kind_below("java.util.concurrent.locks.LockSupport.park"), "lock");
}

static void test_marks_are_sorted_and_count_from_the_first_sample(void **state)
{
	struct fixture *fixture = *state;
	struct picture_mark *marks;
	uint32_t count;
	const struct wire_sample sample = {.thread = 1, .time_ns = 5000, .weight = 1};

	add_mark(fixture, 9000, "late");
	add_mark(fixture, 6000, "soon");
	add_mark(fixture, 10, "before all");
	profile_add(fixture->profile, fixture->image, &sample, NULL);
	assert_int_equal(marks_make(fixture->profile, &marks, &count), 0);
	assert_int_equal(count, 3);
	assert_string_equal(marks[0].text, "before all");
	assert_int_equal(marks[0].time_ns, 0);
	assert_string_equal(marks[1].text, "soon");
	assert_int_equal(marks[1].time_ns, 1000);
	assert_int_equal(marks[1].tid, 77);
	assert_int_equal(marks[2].time_ns, 4000);
	free(marks);
}

static void test_ceilings(void **state)
{
	struct fixture *fixture = *state;
	struct flameprof_profile *profile = fixture->profile;

	/*
	 * The name, its NUL and the NUL of the empty file name need 10 bytes. Leave one byte less.
	 */
	profile->words_bytes = PROFILE_WORDS_MAX - sizeof(struct names_code) - 9;
	assert_int_equal(add_code(fixture, 100, 50, "12345678"), -ENOSPC);
	assert_null(name_at(fixture, 100));
	assert_int_equal(add_code(fixture, 100, 50, "1234567"), 0);
	assert_string_equal(name_at(fixture, 100), "1234567");
	profile->words_bytes = PROFILE_WORDS_MAX - sizeof(struct profile_mark) - 8;
	assert_int_equal(add_mark(fixture, 1, "12345678"), -ENOSPC);
	assert_int_equal(profile->mark_count, 0);
	assert_int_equal(add_mark(fixture, 1, "1234567"), 0);
	profile->words_bytes = 0;
	for (uint32_t i = 1; i < PROFILE_MARKS_MAX; i++)
		assert_int_equal(add_mark(fixture, 1, "m"), 0);
	assert_int_equal(add_mark(fixture, 1, "m"), -ENOSPC);
	assert_int_equal(profile_error(profile), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_code_is_found_by_its_stretch),
		TEST(test_odd_code_is_harmless),
		TEST(test_frames_get_the_names),
		cmocka_unit_test(test_a_language_may_sleep_by_any_call),
		TEST(test_marks_are_sorted_and_count_from_the_first_sample),
		TEST(test_ceilings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
