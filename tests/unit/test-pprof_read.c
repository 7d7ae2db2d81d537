/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* Read pprof profiles as other programs write them, and unusual and damaged profiles. */
#include "tests/unit/pprof-fixture.h"

#include <errno.h>

#include "libprof/pprof/protobuf.h"

/* The profile that a test builds. It has no sink, so all bytes stay in the buffer. */
static struct protobuf_out all;

/* The string table of every profile here. The enum has the indices of its texts. */
static const char *const texts[] = {"", "samples", "count", "cpu", "nanoseconds", "space", "bytes",
	"outer", "inner", "_ZN3abc3defEv", "/lib/libx.so", "thread", "worker", "tid", "[cold]",
	"title: the title", "mark: 1.500 7 half way", "[generated code]", "compiled"};
enum { NONE, SAMPLES, COUNT, CPU, NS, SPACE, BYTES, OUTER, INNER, MANGLED, FILE_X, THREAD, WORKER,
	TID, COLD, TITLE, MARK, GENERATED, COMPILED };

/*
 * Write a message as field @field. The other arguments are the values of the message's fields 1, 2,
 * ... Fields with the value 0 are omitted.
 */
#define PUT(field, ...)                                                                            \
	put_message(field, (const uint64_t[]){__VA_ARGS__},                                        \
		sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))
static void put_message(uint32_t field, const uint64_t *numbers, unsigned count)
{
	size_t begun = protobuf_begin(&all, field);

	for (unsigned i = 0; i < count; i++)
		protobuf_put_number(&all, i + 1, numbers[i]);
	protobuf_end(&all, begun);
}

/*
 * Write a location. @lines lists its functions, innermost first, ended by 0; NULL if it has none.
 */
static void put_location(uint64_t id, uint64_t mapping, uint64_t address, const uint64_t *lines)
{
	size_t begun = protobuf_begin(&all, PROFILE_LOCATION);

	protobuf_put_number(&all, LOCATION_ID, id);
	protobuf_put_number(&all, LOCATION_MAPPING, mapping);
	protobuf_put_number(&all, LOCATION_ADDRESS, address);
	for (; lines && *lines; lines++)
		PUT(LOCATION_LINE, *lines);
	protobuf_end(&all, begun);
}
#define LIST(...) ((const uint64_t[]){__VA_ARGS__, 0})

static void put_packed(uint32_t field, const uint64_t *numbers, unsigned count)
{
	size_t begun = protobuf_begin(&all, field);

	for (unsigned i = 0; i < count; i++)
		protobuf_put_varint(&all, numbers[i]);
	protobuf_end(&all, begun);
}

/*
 * Begin a sample with its locations (innermost first, ended by 0) and its values. The caller may
 * add labels.
 */
static size_t begin_sample(const uint64_t *locations, const uint64_t *values, unsigned types)
{
	size_t begun = protobuf_begin(&all, PROFILE_SAMPLE);
	unsigned depth = 0;

	while (locations[depth])
		depth++;
	put_packed(SAMPLE_LOCATION, locations, depth);
	put_packed(SAMPLE_VALUE, values, types);
	return begun;
}

static void put_sample(const uint64_t *locations, const uint64_t *values, unsigned types)
{
	protobuf_end(&all, begin_sample(locations, values, types));
}

static void put_text(uint32_t field, const char *text)
{
	protobuf_put_bytes(&all, field, text, strlen(text));
}

static void put_texts(void)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		put_text(PROFILE_STRING, texts[i]);
}

static struct calltree *read_all(const char *type, int wanted)
{
	return read_bytes(all.buffer.at, all.used, type, wanted);
}

static void check(const char *type, const char *wanted)
{
	struct calltree *tree = read_all(type, 0);

	check_tree(tree, wanted);
	calltree_free(tree);
}

/*
 * Write functions and locations. Location 3 has two functions: INNER, which is inlined into OUTER.
 */
static void put_program(void)
{
	PUT(PROFILE_MAPPING, 1, 0x10000, 0x20000, 0, FILE_X);
	PUT(PROFILE_FUNCTION, 1, OUTER);
	PUT(PROFILE_FUNCTION, 2, INNER);
	PUT(PROFILE_FUNCTION, 3, MANGLED);
	put_location(1, 1, 0x10010, LIST(1));
	put_location(2, 1, 0x10020, LIST(2));
	put_location(3, 1, 0x10030, LIST(2, 1));
	put_location(4, 1, 0x10040, LIST(3));
}

static void test_values_and_types(void **state)
{
	(void)state;
	PUT(PROFILE_SAMPLE_TYPE, SAMPLES, COUNT);
	PUT(PROFILE_SAMPLE_TYPE, SPACE, BYTES);
	put_program();
	put_sample(LIST(2, 1), (const uint64_t[]){3, 4096}, 2);
	put_sample(LIST(1), (const uint64_t[]){1, 0}, 2);
	put_sample(LIST(2, 1), (const uint64_t[]){1, 10}, 2);
	put_texts();
	check(NULL, "outer;inner 4106\n"); /* the last type */
	assert_string_equal(facts.count_name, "bytes");
	assert_string_equal(facts.subtitle, "4106 bytes of space");
	assert_string_equal(facts.title, "libx.so: space");
	check("samples", "outer 1\nouter;inner 4\n");
	assert_string_equal(facts.count_name, "samples");
	check("space/bytes", "outer;inner 4106\n");
	read_all("spac", -EINVAL);
	assert_string_equal(message.hint, "it has samples, space");
	read_all("space/count", -EINVAL);
	protobuf_put_number(&all, PROFILE_DEFAULT_TYPE, SAMPLES);
	check(NULL, "outer 1\nouter;inner 4\n"); /* the default type */
	check("space", "outer;inner 4106\n");
}

static void test_whole_periods_are_samples(void **state)
{
	size_t before;

	(void)state;
	PUT(PROFILE_SAMPLE_TYPE, SAMPLES, COUNT);
	PUT(PROFILE_SAMPLE_TYPE, CPU, NS);
	PUT(PROFILE_PERIOD_TYPE, CPU, NS);
	protobuf_put_number(&all, PROFILE_PERIOD, 10000000);
	protobuf_put_number(&all, PROFILE_DURATION_NANOS, 2000000000);
	put_program();
	put_sample(LIST(1), (const uint64_t[]){2, 20000000}, 2);
	put_texts();
	before = all.used;
	check(NULL, "outer 2\n");
	assert_int_equal(facts.period_ns, 10000000);
	assert_string_equal(facts.subtitle, "2 samples of cpu, 0.02 s in 2.00 s");
	check("samples", "outer 2\n");
	assert_int_equal(facts.period_ns, 10000000);
	/* If a value is not a multiple of the period, all weights are read as times. */
	put_sample(LIST(1), (const uint64_t[]){1, 10000001}, 2);
	check(NULL, "outer 30000001\n");
	assert_int_equal(facts.period_ns, 1);
	assert_string_equal(facts.count_name, "nanoseconds");
	all.used = before;
	/* Negative values are accepted in types that are not read. */
	put_sample(LIST(1), (const uint64_t[]){1, (uint64_t)-5}, 2);
	check(NULL, "outer 2\n");
}

static void test_inlined_and_mangled_names(void **state)
{
	struct calltree *tree;

	(void)state;
	PUT(PROFILE_SAMPLE_TYPE, SAMPLES, COUNT);
	put_program();
	put_sample(LIST(4, 3), LIST(5), 1);
	put_texts();
	tree = read_all(NULL, 0);
	check_tree(tree, "outer;inner;abc::def 5\n");
	assert_int_equal(frame_called(tree, "inner")->kind, CALLTREE_INLINE);
	assert_int_equal(frame_called(tree, "outer")->kind, CALLTREE_NATIVE);
	assert_string_equal(frame_called(tree, "outer")->module, "libx.so");
	calltree_free(tree);
}

/* Read a function at two lines of its file, and at impossible line numbers, which become 0. */
static void test_lines(void **state)
{
	static const uint64_t numbers[] = {12, 34, 0, (uint64_t)-1, 1ULL << 40};
	static const uint32_t wanted[] = {12, 34, 0, 0, 0};
	struct calltree *tree;
	size_t begun;

	(void)state;
	PUT(PROFILE_SAMPLE_TYPE, SAMPLES, COUNT);
	PUT(PROFILE_FUNCTION, 1, MANGLED, 0, FILE_X);
	for (unsigned i = 0; i < 5; i++) {
		begun = protobuf_begin(&all, PROFILE_LOCATION);
		protobuf_put_number(&all, LOCATION_ID, i + 1);
		PUT(LOCATION_LINE, 1, numbers[i]);
		protobuf_end(&all, begun);
	}
	put_sample(LIST(5, 4, 3, 2, 1), LIST(1), 1);
	put_texts();
	tree = read_all(NULL, 0);
	assert_int_equal(calltree_nodes(tree), 6);
	assert_int_equal(calltree_frames(tree), 3);
	for (uint32_t i = 0; i < 5; i++) {
		const struct calltree_frame *frame =
			calltree_frame_at(tree, calltree_node_at(tree, i + 1)->frame);

		assert_string_equal(frame->name, "abc::def");
		assert_string_equal(frame->file, "/lib/libx.so");
		assert_int_equal(frame->line, wanted[i]);
	}
	calltree_free(tree);
}

static void test_code_without_names(void **state)
{
	struct calltree *tree;

	(void)state;
	PUT(PROFILE_SAMPLE_TYPE, SAMPLES, COUNT);
	put_program();
	PUT(PROFILE_MAPPING, 2, 0x10000, 0x20000, 0, GENERATED);
	PUT(PROFILE_FUNCTION, 5, COMPILED);
	PUT(PROFILE_FUNCTION, 6, COLD);
	put_location(5, 1, 0x10123, NULL);
	put_location(6, 0, 0x999, NULL);
	put_location(7, 2, 0, LIST(5));
	put_location(8, 1, 0, LIST(6));
	put_sample(LIST(5, 6, 7, 8), LIST(1), 1);
	put_texts();
	tree = read_all(NULL, 0);
	check_tree(tree, "[cold];compiled;[unknown code];[libx.so+0x123] 1\n");
	assert_int_equal(frame_called(tree, "compiled")->kind, CALLTREE_JIT);
	assert_string_equal(frame_called(tree, "compiled")->module, "");
	assert_int_equal(frame_called(tree, "[cold]")->kind, CALLTREE_SYNTHETIC);
	assert_int_equal(frame_called(tree, "[libx.so+0x123]")->kind, CALLTREE_UNNAMED);
	calltree_free(tree);
}

static void test_threads(void **state)
{
	struct calltree *tree;
	size_t begun;

	(void)state;
	PUT(PROFILE_SAMPLE_TYPE, SAMPLES, COUNT);
	put_program();
	begun = begin_sample(LIST(1), LIST(2), 1);
	PUT(SAMPLE_LABEL, THREAD, WORKER, 0);
	protobuf_end(&all, begun);
	begun = begin_sample(LIST(1), LIST(3), 1);
	PUT(SAMPLE_LABEL, THREAD, WORKER, 0);
	PUT(SAMPLE_LABEL, TID, 0, 77);
	protobuf_end(&all, begun);
	begun = begin_sample(LIST(1), (const uint64_t[]){UINT64_C(5000000000)}, 1);
	PUT(SAMPLE_LABEL, TID, 0, 78);
	protobuf_end(&all, begun);
	begun = begin_sample(LIST(2), LIST(1), 1);
	PUT(SAMPLE_LABEL, TID, 0, 78);
	protobuf_end(&all, begun);
	put_sample(LIST(2), LIST(4), 1);
	put_texts();
	tree = read_all(NULL, 0);
	assert_int_equal(calltree_threads(tree), 3);
	assert_string_equal(calltree_thread_at(tree, 0), "worker");
	assert_string_equal(calltree_thread_at(tree, 1), "worker (77)");
	assert_string_equal(calltree_thread_at(tree, 2), "thread (78)");
	/* A weight of more than 32 bits is stored as two samples. */
	assert_int_equal(calltree_samples(tree), 5);
	assert_int_equal(calltree_total(tree), 5000000010);
	calltree_free(tree);
}

static void test_title_and_marks(void **state)
{
	(void)state;
	PUT(PROFILE_SAMPLE_TYPE, SAMPLES, COUNT);
	protobuf_put_number(&all, PROFILE_COMMENT, MARK);
	put_packed(PROFILE_COMMENT, LIST(TITLE, OUTER), 2);
	protobuf_put_number(&all, PROFILE_TIME_NANOS, UINT64_C(1700000000000000000));
	put_texts();
	check(NULL, "");
	assert_string_equal(facts.title, "the title");
	assert_int_equal(facts.created_s, 1700000000);
	assert_int_equal(facts.mark_count, 1);
	assert_int_equal(facts.marks[0].time_ns, 1500000);
	assert_int_equal(facts.marks[0].tid, 7);
	assert_string_equal(facts.marks[0].text, "half way");
}

/*
 * Read a profile that is valid but unusual: fields in any order, arbitrary ids, unpacked lists,
 * unknown fields.
 */
static void test_odd_but_right(void **state)
{
	size_t begun;

	(void)state;
	put_texts();
	begun = protobuf_begin(&all, PROFILE_SAMPLE);
	protobuf_put_number(&all, SAMPLE_LOCATION, 7);
	protobuf_put_number(&all, SAMPLE_LOCATION, UINT64_MAX);
	protobuf_put_number(&all, SAMPLE_VALUE, 5);
	protobuf_put_number(&all, 99, 5);
	protobuf_end(&all, begun);
	put_location(UINT64_MAX, 0, 0, LIST(900));
	put_location(7, 0, 0, LIST(3));
	PUT(PROFILE_FUNCTION, 900, OUTER);
	PUT(PROFILE_FUNCTION, 3, INNER);
	put_text(99, "unknown");
	PUT(PROFILE_SAMPLE_TYPE, SAMPLES, COUNT);
	check(NULL, "outer;inner 5\n");
}

static void test_negative_values_are_left_out(void **state)
{
	(void)state;
	PUT(PROFILE_SAMPLE_TYPE, SAMPLES, COUNT);
	put_program();
	put_sample(LIST(1), (const uint64_t[]){(uint64_t)-3}, 1);
	put_sample(LIST(2), LIST(2), 1);
	put_texts();
	check(NULL, "inner 2\n");
}

static void check_damage(const char *what)
{
	read_all(NULL, -EBADMSG);
	assert_non_null(strstr(message.text, what));
}

static void test_damage_is_named(void **state)
{
	size_t good;

	(void)state;
	put_texts();
	check_damage("this has none");
	PUT(PROFILE_SAMPLE_TYPE, SAMPLES, COUNT);
	put_program();
	good = all.used;
	put_sample(LIST(9), LIST(1), 1);
	check_damage("a location that is not there at byte ");
	all.used = good;
	put_sample(LIST(1), LIST(1, 2), 2);
	check_damage("one value for each type");
	all.used = good;
	put_location(9, 5, 0, NULL);
	put_sample(LIST(9), LIST(1), 1);
	check_damage("a mapping that is not there");
	all.used = good;
	put_location(9, 1, 0, LIST(55));
	put_sample(LIST(9), LIST(1), 1);
	check_damage("a function that is not there");
	all.used = good;
	PUT(PROFILE_FUNCTION, 1, INNER);
	check_damage("two functions with one id");
	all.used = good;
	put_location(0, 1, 0, NULL);
	check_damage("a location without an id");
}

/*
 * Reading a profile that is cut at any byte or has any bit flipped returns an error or a tree and
 * must not crash.
 */
static void test_every_cut_and_every_flip(void **state)
{
	const struct input_request request = {0};
	uint8_t whole[2048];
	size_t bytes, begun;
	unsigned refused = 0;

	(void)state;
	PUT(PROFILE_SAMPLE_TYPE, SAMPLES, COUNT);
	put_program();
	begun = begin_sample(LIST(4, 3, 2), LIST(5), 1);
	PUT(SAMPLE_LABEL, THREAD, WORKER, 3);
	protobuf_end(&all, begun);
	put_texts();
	bytes = all.used;
	assert_true(bytes < sizeof(whole));
	memcpy(whole, all.buffer.at, bytes);
	for (size_t i = 0; i < bytes * 9; i++) {
		size_t length = i < bytes ? i : bytes;
		struct calltree *tree = calltree_new();
		uint8_t *copy = malloc(length + 1); /* makes reads beyond it visible */

		memcpy(copy, whole, length);
		if (i >= bytes)
			copy[(i - bytes) / 8] ^= (uint8_t)(1 << i % 8);
		refused += pprof_read(tree, copy, length, "x", &request, &facts, &message) != 0;
		input_facts_release(&facts);
		free(copy);
		calltree_free(tree);
		if (i == bytes)
			assert_true(refused > bytes / 2);
	}
}

static void test_profiles_are_told_from_text(void **state)
{
	(void)state;
	PUT(PROFILE_SAMPLE_TYPE, SAMPLES, COUNT);
	put_program();
	put_texts();
	assert_true(pprof_is_profile(all.buffer.at, all.used));
	assert_false(pprof_is_profile(all.buffer.at, all.used - 1));
	assert_false(pprof_is_profile("\nmain;work 5\n", 13));
	assert_false(pprof_is_profile("\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n", 15));
	assert_false(pprof_is_profile("", 0));
}

static int set_up(void **state)
{
	(void)state;
	all.used = 0;
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_values_and_types),
		TEST(test_whole_periods_are_samples),
		TEST(test_inlined_and_mangled_names),
		TEST(test_lines),
		TEST(test_code_without_names),
		TEST(test_threads),
		TEST(test_title_and_marks),
		TEST(test_odd_but_right),
		TEST(test_negative_values_are_left_out),
		TEST(test_damage_is_named),
		TEST(test_every_cut_and_every_flip),
		TEST(test_profiles_are_told_from_text),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	protobuf_finish(&all);
	return failed;
}
