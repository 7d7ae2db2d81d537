/* SPDX-License-Identifier: MIT */
/* pprof profiles as others write them, the odd ones and the damaged ones. */
#include "tests/unit/pprof-fixture.h"

#include <errno.h>

/* Texts of every profile made here, by number. */
static const char *const texts[] = {"", "samples", "count", "cpu", "nanoseconds", "space", "bytes",
	"outer", "inner", "_ZN3abc3defEv", "/lib/libx.so", "thread", "worker", "tid", "[cold]",
	"title: the title", "mark: 1.500 7 half way", "[generated code]", "compiled"};
enum { NONE, SAMPLES, COUNT, CPU, NS, SPACE, BYTES, OUTER, INNER, MANGLED, FILE_X, THREAD, WORKER,
	TID, COLD, TITLE, MARK, GENERATED, COMPILED };

static void put_type(uint32_t field, uint64_t type, uint64_t unit)
{
	protobuf_put_number(&part, 1, type);
	protobuf_put_number(&part, 2, unit);
	protobuf_put_message(&all, field, &part);
}

static void put_function(uint64_t id, uint64_t name)
{
	protobuf_put_number(&part, 1, id);
	protobuf_put_number(&part, 2, name);
	protobuf_put_message(&all, 5, &part);
}

static void put_mapping(uint64_t id, uint64_t file)
{
	protobuf_put_number(&part, 1, id);
	protobuf_put_number(&part, 2, 0x10000);
	protobuf_put_number(&part, 3, 0x20000);
	protobuf_put_number(&part, 5, file);
	protobuf_put_message(&all, 3, &part);
}

/* @lines: functions, innermost first, 0 at the end; NULL: none. */
static void put_location(uint64_t id, uint64_t mapping, uint64_t address, const uint64_t *lines)
{
	protobuf_put_number(&part, 1, id);
	protobuf_put_number(&part, 2, mapping);
	protobuf_put_number(&part, 3, address);
	for (; lines && *lines; lines++) {
		protobuf_put_number(&inner, 1, *lines);
		protobuf_put_message(&part, 4, &inner);
	}
	protobuf_put_message(&all, 4, &part);
}
#define LIST(...) ((const uint64_t[]){__VA_ARGS__, 0})

static void put_packed(uint32_t field, const uint64_t *numbers, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		bytes_varint(&inner, numbers[i]);
	protobuf_put_message(&part, field, &inner);
}

/* Locations innermost first, 0 at the end, and values; labels are in `part` already. */
static void put_sample(const uint64_t *locations, const uint64_t *values, unsigned types)
{
	unsigned depth = 0;

	while (locations[depth])
		depth++;
	put_packed(1, locations, depth);
	put_packed(2, values, types);
	protobuf_put_message(&all, 2, &part);
}

static void put_label(uint64_t key, uint64_t text, uint64_t number)
{
	protobuf_put_number(&inner, 1, key);
	protobuf_put_number(&inner, 2, text);
	protobuf_put_number(&inner, 3, number);
	protobuf_put_message(&part, 3, &inner);
}

static void put_texts(void)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		protobuf_put_text(&all, 6, texts[i]);
}

static void check(const char *type, const char *wanted)
{
	struct calltree *tree = read_all(type, 0);

	check_tree(tree, wanted);
	calltree_free(tree);
}

/* At location 3 one function is inlined in the other. */
static void put_program(void)
{
	put_mapping(1, FILE_X);
	put_function(1, OUTER);
	put_function(2, INNER);
	put_function(3, MANGLED);
	put_location(1, 1, 0x10010, LIST(1));
	put_location(2, 1, 0x10020, LIST(2));
	put_location(3, 1, 0x10030, LIST(2, 1));
	put_location(4, 1, 0x10040, LIST(3));
}

static void test_values_and_types(void **state)
{
	(void)state;
	put_type(1, SAMPLES, COUNT);
	put_type(1, SPACE, BYTES);
	put_program();
	put_sample(LIST(2, 1), (const uint64_t[]){3, 4096}, 2);
	put_sample(LIST(1), (const uint64_t[]){1, 0}, 2);
	put_sample(LIST(2, 1), (const uint64_t[]){1, 10}, 2);
	put_texts();
	check(NULL, "outer;inner 4106\n"); /* the last one */
	assert_string_equal(facts.count_name, "bytes");
	assert_string_equal(facts.subtitle, "4106 bytes of space");
	assert_string_equal(facts.title, "libx.so: space");
	check("samples", "outer 1\nouter;inner 4\n");
	assert_string_equal(facts.count_name, "samples");
	check("space/bytes", "outer;inner 4106\n");
	read_all("spac", -EINVAL);
	assert_string_equal(message.hint, "it has samples, space");
	read_all("space/count", -EINVAL);
	protobuf_put_number(&all, 14, SAMPLES);
	check(NULL, "outer 1\nouter;inner 4\n"); /* the one it names */
	check("space", "outer;inner 4106\n");
}

static void test_whole_periods_are_samples(void **state)
{
	size_t before;

	(void)state;
	put_type(1, SAMPLES, COUNT);
	put_type(1, CPU, NS);
	put_type(11, CPU, NS);
	protobuf_put_number(&all, 12, 10000000);
	protobuf_put_number(&all, 10, 2000000000);
	put_program();
	put_sample(LIST(1), (const uint64_t[]){2, 20000000}, 2);
	put_texts();
	before = all.used;
	check(NULL, "outer 2\n");
	assert_int_equal(facts.period_ns, 10000000);
	assert_string_equal(facts.subtitle, "2 samples of cpu, 0.02 s in 2.00 s");
	check("samples", "outer 2\n");
	assert_int_equal(facts.period_ns, 10000000);
	/* One that is not makes all of them times. */
	put_sample(LIST(1), (const uint64_t[]){1, 10000001}, 2);
	check(NULL, "outer 30000001\n");
	assert_int_equal(facts.period_ns, 1);
	assert_string_equal(facts.count_name, "nanoseconds");
	all.used = before;
	/* Those that do not count are not asked. */
	put_sample(LIST(1), (const uint64_t[]){1, (uint64_t)-5}, 2);
	check(NULL, "outer 2\n");
}

static void test_inlined_and_mangled_names(void **state)
{
	struct calltree *tree;

	(void)state;
	put_type(1, SAMPLES, COUNT);
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

static void test_code_without_names(void **state)
{
	struct calltree *tree;

	(void)state;
	put_type(1, SAMPLES, COUNT);
	put_program();
	put_mapping(2, GENERATED);
	put_function(5, COMPILED);
	put_function(6, COLD);
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

	(void)state;
	put_type(1, SAMPLES, COUNT);
	put_program();
	put_label(THREAD, WORKER, 0);
	put_sample(LIST(1), LIST(2), 1);
	put_label(THREAD, WORKER, 0);
	put_label(TID, 0, 77);
	put_sample(LIST(1), LIST(3), 1);
	put_label(TID, 0, 78);
	put_sample(LIST(1), (const uint64_t[]){UINT64_C(5000000000)}, 1);
	put_label(TID, 0, 78);
	put_sample(LIST(2), LIST(1), 1);
	put_sample(LIST(2), LIST(4), 1);
	put_texts();
	tree = read_all(NULL, 0);
	assert_int_equal(calltree_threads(tree), 3);
	assert_string_equal(calltree_thread_at(tree, 0), "worker");
	assert_string_equal(calltree_thread_at(tree, 1), "worker (77)");
	assert_string_equal(calltree_thread_at(tree, 2), "thread (78)");
	/* A weight that one sample of the tree cannot hold is two. */
	assert_int_equal(calltree_samples(tree), 5);
	assert_int_equal(calltree_total(tree), 5000000010);
	calltree_free(tree);
}

static void test_title_and_marks(void **state)
{
	(void)state;
	put_type(1, SAMPLES, COUNT);
	protobuf_put_number(&all, 13, MARK);
	bytes_varint(&inner, TITLE); /* packed */
	bytes_varint(&inner, OUTER);
	protobuf_put_message(&all, 13, &inner);
	protobuf_put_number(&all, 9, UINT64_C(1700000000000000000));
	put_texts();
	check(NULL, "");
	assert_string_equal(facts.title, "the title");
	assert_int_equal(facts.created_s, 1700000000);
	assert_int_equal(facts.mark_count, 1);
	assert_int_equal(facts.marks[0].time_ns, 1500000);
	assert_int_equal(facts.marks[0].tid, 7);
	assert_string_equal(facts.marks[0].text, "half way");
}

/* Fields may come in any order, ids be any numbers, lists not be packed, fields be unknown. */
static void test_odd_but_right(void **state)
{
	(void)state;
	put_texts();
	protobuf_put_number(&part, 1, 7);
	protobuf_put_number(&part, 1, UINT64_MAX);
	protobuf_put_number(&part, 2, 5);
	protobuf_put_number(&part, 99, 5);
	protobuf_put_message(&all, 2, &part);
	put_location(UINT64_MAX, 0, 0, LIST(900));
	put_location(7, 0, 0, LIST(3));
	put_function(900, OUTER);
	put_function(3, INNER);
	protobuf_put_text(&all, 99, "unknown");
	put_type(1, SAMPLES, COUNT);
	check(NULL, "outer;inner 5\n");
}

static void test_negative_values_are_left_out(void **state)
{
	(void)state;
	put_type(1, SAMPLES, COUNT);
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
	put_type(1, SAMPLES, COUNT);
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
	put_function(1, INNER);
	check_damage("two functions with one id");
	all.used = good;
	put_location(0, 1, 0, NULL);
	check_damage("a location without an id");
}

/* Wherever it is cut, or whatever bit is another: an error or a tree, never a crash. */
static void test_every_cut_and_every_flip(void **state)
{
	uint8_t whole[2048];
	size_t bytes;
	unsigned refused = 0;

	(void)state;
	put_type(1, SAMPLES, COUNT);
	put_program();
	put_label(THREAD, WORKER, 3);
	put_sample(LIST(4, 3, 2), LIST(5), 1);
	put_texts();
	bytes = all.used;
	assert_true(bytes < sizeof(whole));
	memcpy(whole, all.data, bytes);
	for (size_t i = 0; i < bytes * 9; i++) {
		size_t length = i < bytes ? i : bytes;
		struct calltree *tree = calltree_new();
		uint8_t *copy = malloc(length + 1); /* so that one byte too far is seen */

		memcpy(copy, whole, length);
		if (i >= bytes)
			copy[(i - bytes) / 8] ^= (uint8_t)(1 << i % 8);
		refused += pprof_read(tree, copy, length, "x", NULL, &facts, &message) != 0;
		pprof_facts_release(&facts);
		free(copy);
		calltree_free(tree);
		if (i == bytes)
			assert_true(refused > bytes / 2);
	}
}

static void test_profiles_are_told_from_text(void **state)
{
	(void)state;
	put_type(1, SAMPLES, COUNT);
	put_program();
	put_texts();
	assert_true(pprof_is_profile(all.data, all.used));
	assert_false(pprof_is_profile(all.data, all.used - 1));
	assert_false(pprof_is_profile("\nmain;work 5\n", 13));
	assert_false(pprof_is_profile("\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n", 15));
	assert_false(pprof_is_profile("", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_values_and_types),
		TEST(test_whole_periods_are_samples),
		TEST(test_inlined_and_mangled_names),
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

	fixture_release();
	return failed;
}
