/* SPDX-License-Identifier: MIT */
/* What programs say of themselves: through the control ring, to names, marks and ceilings. */
#include <errno.h>

#include "cli/profile/announced.h"
#include "cli/profile/marks.h"
#include "cli/profile/naming.h"
#include "tests/unit/intake-fixture.h"

#define SLOT 5

static struct wire_control *reserve(struct fixture *fixture, size_t fixed, const char *text,
	uint32_t *bytes)
{
	struct wire_control *record;

	*bytes = (uint32_t)(fixed + strlen(text) + 1 + 7) & ~7u;
	record = control_reserve(wire_slot(fixture->arena, SLOT),
		wire_control_data(fixture->arena, SLOT), *bytes);
	assert_non_null(record);
	memset(record + 1, 0, *bytes - sizeof(*record));
	return record;
}

static void say_code(struct fixture *fixture, uint64_t space, uint64_t size, const char *name)
{
	uint32_t bytes;
	struct wire_code *code = (struct wire_code *)reserve(
		fixture, offsetof(struct wire_code, name), name, &bytes);

	code->space = space;
	code->bytes = size;
	code->name_bytes = (uint32_t)strlen(name) + 1;
	memcpy(code->name, name, code->name_bytes);
	control_commit(&code->control, bytes, WIRE_CONTROL_CODE);
	control_read_all(&fixture->intake, SLOT, fixture->image);
}

static void say_mark(
	struct fixture *fixture, uint64_t time_ns, const char *name, uint32_t name_bytes)
{
	uint32_t bytes;
	struct wire_mark *mark = (struct wire_mark *)reserve(
		fixture, offsetof(struct wire_mark, name), name, &bytes);

	mark->time_ns = time_ns;
	mark->tid = 77;
	mark->name_bytes = name_bytes;
	memcpy(mark->name, name, strlen(name) + 1);
	control_commit(&mark->control, bytes, WIRE_CONTROL_MARK);
	control_read_all(&fixture->intake, SLOT, fixture->image);
}

static const char *name_at(struct fixture *fixture, uint64_t address)
{
	return announced_code_name(
		profile_announced(fixture->profile), fixture->image, address);
}

static void test_code_is_found_by_its_stretch(void **state)
{
	struct fixture *fixture = *state;

	assert_null(name_at(fixture, 100));
	say_code(fixture, 300, 50, "third");
	say_code(fixture, 100, 50, "first");
	assert_string_equal(name_at(fixture, 100), "first");
	assert_string_equal(name_at(fixture, 149), "first");
	assert_null(name_at(fixture, 99));
	assert_null(name_at(fixture, 150));
	assert_string_equal(name_at(fixture, 349), "third");
	say_code(fixture, 150, 1, "second"); /* after the first question */
	assert_string_equal(name_at(fixture, 150), "second");
	assert_null(announced_code_name(
		profile_announced(fixture->profile), fixture->image + 1, 100));
}

static void test_odd_code_is_harmless(void **state)
{
	struct fixture *fixture = *state;

	say_code(fixture, 100, 50, "old");
	say_code(fixture, 100, 50, "new");
	assert_string_equal(name_at(fixture, 120), "new");
	say_code(fixture, 200, 0, "no bytes");
	say_code(fixture, 300, 9, "");
	assert_null(name_at(fixture, 200));
	assert_null(name_at(fixture, 300));
	say_code(fixture, UINT64_MAX - 1, UINT64_MAX, "at the end");
	assert_string_equal(name_at(fixture, UINT64_MAX), "at the end");
	assert_int_equal(profile_totals(fixture->profile)->losses.control_dropped, 0);
}

/* A stack of a function of a file, which calls generated code that has a name, then some that has
 * none. */
static void test_frames_get_the_names(void **state)
{
	struct fixture *fixture = *state;
	const struct naming_request request = {.profile = fixture->profile};
	struct naming_report report;
	struct calltree *tree;
	struct profile_stack stack = {.kind = WIRE_KIND_CPU};
	const char comm[WIRE_COMM_BYTES] = "worker";

	say_code(fixture, 4096, 64, "lambda (x)");
	stack.thread = profile_thread(fixture->profile, fixture->image, 1, 9, comm);
	stack.node = profile_node(fixture->profile,
		profile_image_at(fixture->profile, fixture->image)->root,
		WIRE_FRAME(WIRE_MODULE_CODE, 4100));
	stack.node = profile_node(
		fixture->profile, stack.node, WIRE_FRAME(WIRE_MODULE_CODE, 9999));
	profile_add(fixture->profile, &stack, 1000, 3);
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
	assert_int_equal(report.unnamed_weight, 3);
	calltree_free(tree);
}

static void test_marks_are_sorted_and_count_from_the_first_sample(void **state)
{
	struct fixture *fixture = *state;
	struct picture_mark *marks;
	uint32_t count;
	struct profile_stack stack = {
		.node = profile_image_at(fixture->profile, fixture->image)->root};

	say_mark(fixture, 9000, "late", 5);
	say_mark(fixture, 6000, "soon", 5);
	say_mark(fixture, 10, "before all", 11);
	profile_add(fixture->profile, &stack, 5000, 1);
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

static void test_lies_about_lengths(void **state)
{
	struct fixture *fixture = *state;
	struct announced *announced = profile_announced(fixture->profile);

	say_mark(fixture, 1, "text", 0);
	say_mark(fixture, 1, "text", 100);
	say_mark(fixture, 1, "text", UINT32_MAX);
	assert_int_equal(announced->mark_count, 0);
	say_mark(fixture, 1, "text", 2); /* cut, and ended there */
	assert_int_equal(announced->mark_count, 1);
	assert_string_equal(announced->marks[0].text, "t");
}

static void test_ceilings(void **state)
{
	struct fixture *fixture = *state;
	struct announced *announced = profile_announced(fixture->profile);

	announced->text_bytes = ANNOUNCED_TEXT_MAX - 8;
	say_code(fixture, 100, 50, "12345678"); /* and its NUL */
	assert_null(name_at(fixture, 100));
	say_mark(fixture, 1, "12345678", 9);
	assert_int_equal(announced->mark_count, 0);
	assert_int_equal(profile_totals(fixture->profile)->losses.control_dropped, 2);
	say_code(fixture, 100, 50, "1234567");
	assert_string_equal(name_at(fixture, 100), "1234567");
	for (uint32_t i = 0; i < ANNOUNCED_MARKS_MAX; i++) {
		announced->text_bytes = 0;
		assert_int_equal(announced_add_mark(announced,
			&(struct announced_mark){.text = announced->codes[0].name}), 0);
	}
	assert_int_equal(announced_add_mark(announced,
		&(struct announced_mark){.text = announced->codes[0].name}), -ENOSPC);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_code_is_found_by_its_stretch),
		TEST(test_odd_code_is_harmless),
		TEST(test_frames_get_the_names),
		TEST(test_marks_are_sorted_and_count_from_the_first_sample),
		TEST(test_lies_about_lengths),
		TEST(test_ceilings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
