/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Read pictures in which one column of the embedded data is damaged: check the error message, and
 * that nothing else happens.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <cmocka.h>

#include "cli/formats/svg.h"
#include "render/embed.h"
#include "tests/setup/packed_picture.h"

#define TAGS 64

static struct diag_message message;
static struct input_facts facts;
static struct calltree *tree;

/* The columns of a picture. A test may change them before it calls make_file(). */
static struct {
	const char *bytes;
	size_t count;
} columns[TAGS];

static const char *version;

#define SET(tag, text) (columns[tag].bytes = (text), columns[tag].count = sizeof(text) - 1)

/* Make a picture of two functions, three nodes, one thread, two samples, a mark and a line. */
static int set_up(void **state)
{
	(void)state;
	memset(columns, 0, sizeof(columns));
	version = PACKED_PICTURE;
	SET(EMBED_TITLE, "title");
	SET(EMBED_NUMBERS, "\x64\x07\x03\x02\x02\x01\x02\x01\x00\x00");
	SET(EMBED_MODULES, "\x00\x04libc");
	SET(EMBED_NAME_LENGTHS, "\x04\x04");
	SET(EMBED_NAMES, "mainread");
	SET(EMBED_FRAME_MODULES, "\x00\x01");
	SET(EMBED_FRAME_KINDS, "\x00\x00");
	SET(EMBED_NODE_UPS, "\x00\x00");
	SET(EMBED_NODE_FRAMES, "\x00\x01");
	SET(EMBED_NODE_WEIGHTS, "\x00\x02\x05");
	SET(EMBED_THREADS, "\x01t");
	SET(EMBED_THREAD_PROCESSES, "\x01p");
	SET(EMBED_TICK, "\x01");
	SET(EMBED_SAMPLE_TIMES, "\x01\x01");
	SET(EMBED_SAMPLE_NODES, "\x02\x02");
	SET(EMBED_SAMPLE_THREADS, "\x00\x00");
	SET(EMBED_SAMPLE_WEIGHTS, "\x02\x05");
	SET(EMBED_SAMPLE_KINDS, "\x00\x00");
	SET(EMBED_MARK_TIMES, "\x03");
	SET(EMBED_MARK_TEXTS, "\x02hi");
	SET(EMBED_MARK_THREADS, "\x09");
	SET(EMBED_FILES, "\x03"
			 "a.c");
	SET(EMBED_LINE_COUNTS, "\x00\x01");
	SET(EMBED_LINES_MORE, "\x00\x00");
	SET(EMBED_LINE_FILES, "\x00");
	SET(EMBED_LINE_NUMBERS, "\x0e");
	SET(EMBED_LINE_SELVES, "\x05");
	SET(EMBED_LINE_TOTALS, "\x05");
	tree = calltree_new();
	return !tree;
}

static int tear_down(void **state)
{
	(void)state;
	input_facts_release(&facts);
	calltree_free(tree);
	return 0;
}

/* Returns a file made of the columns, owned by the caller. */
static struct bytes make_file(void)
{
	struct bytes raw = {0}, file;

	for (unsigned tag = 0; tag < TAGS; tag++) {
		if (!columns[tag].bytes)
			continue;
		bytes_varint(&raw, tag);
		bytes_varint(&raw, columns[tag].count);
		bytes_put(&raw, columns[tag].bytes, columns[tag].count);
	}
	file = packed_picture(version, raw.data, raw.used);
	bytes_release(&raw);
	return file;
}

static int read_columns(void)
{
	struct bytes file = make_file();
	int error = svg_read(tree, &file, "x.svg", &facts, &message);

	bytes_release(&file);
	return error ? error : calltree_finish(tree);
}

static void test_all_of_it(void **state)
{
	(void)state;
	assert_int_equal(read_columns(), 0);
	assert_int_equal(calltree_total(tree), 7);
	assert_int_equal(calltree_samples(tree), 2);
	assert_int_equal(calltree_sample_at(tree, 1)->time_ns, 2000);
	assert_string_equal(calltree_thread_at(tree, 0), "t");
	assert_string_equal(calltree_process_at(tree, 0), "p");
	assert_string_equal(facts.title, "title");
	assert_int_equal(facts.period_ns, 100);
	assert_int_equal(facts.mark_count, 1);
	assert_int_equal(facts.marks[0].tid, 9);
	assert_string_equal(facts.marks[0].text, "hi");
	assert_int_equal(calltree_lines(tree), 1);
	assert_int_equal(calltree_line_at(tree, 0)->line, 7);
	assert_string_equal(calltree_line_at(tree, 0)->file, "a.c");
}

/* Read a picture with two threads, two-byte numbers and ticks of half a second. */
static void test_planes(void **state)
{
	static const struct calltree_sample wanted[] = {
		{.time_ns = 1000000000, .node = 2, .weight = 2, .thread = 0},
		{.time_ns = 1000000000, .node = 1, .weight = 0x105, .thread = 1, .kind = 2},
		{.time_ns = 129 * 1000000000ULL, .node = 1, .weight = 3, .thread = 0, .kind = 1},
	};

	(void)state;
	SET(EMBED_NUMBERS, "\x64\x07\x03\x02\x02\x02\x03\x01\x00\x00");
	SET(EMBED_THREADS, "\x01t\x01u");
	SET(EMBED_TICK, "\xa0\xc2\x1e");
	SET(EMBED_SAMPLE_TIMES, "\x02\x00\x00"
				"\x00\x00\x01");
	SET(EMBED_SAMPLE_NODES, "\x04\x02\x01");
	SET(EMBED_SAMPLE_THREADS, "\x00\x01\x00");
	SET(EMBED_SAMPLE_WEIGHTS, "\x02\x05\x03"
				  "\x00\x01\x00"
				  "\x00\x00\x00");
	SET(EMBED_SAMPLE_KINDS, "\x00\x02\x01");
	assert_int_equal(read_columns(), 0);
	assert_int_equal(calltree_samples(tree), 3);
	for (size_t i = 0; i < 3; i++)
		assert_memory_equal(calltree_sample_at(tree, i), &wanted[i], sizeof(wanted[i]));
}

/*
 * Write samples as pictures before version 1 have them: unsorted, as varints, with differences
 * between nodes.
 */
static void set_old_samples(void)
{
	version = PACKED_OLD_PICTURE;
	for (unsigned tag = EMBED_TICK; tag <= EMBED_SAMPLE_KINDS; tag++)
		columns[tag].bytes = NULL;
	SET(EMBED_OLD_TIMES, "\x0a\x05");
	SET(EMBED_OLD_NODES, "\x04\x01");
	SET(EMBED_OLD_THREADS, "\x00\x00");
	SET(EMBED_OLD_WEIGHTS, "\x05\x02");
	SET(EMBED_OLD_KINDS, "\x00\x00");
}

static void test_samples_from_before_version_1(void **state)
{
	(void)state;
	set_old_samples();
	assert_int_equal(read_columns(), 0);
	assert_int_equal(calltree_samples(tree), 2);
	assert_int_equal(calltree_sample_at(tree, 0)->time_ns, 5000);
	assert_int_equal(calltree_sample_at(tree, 0)->node, 2);
	assert_int_equal(calltree_sample_at(tree, 1)->time_ns, 2000);
	assert_int_equal(calltree_sample_at(tree, 1)->node, 1);
	assert_int_equal(calltree_sample_at(tree, 1)->weight, 2);
}

/* Pictures of other versions may lack these columns or have more. */
static void test_columns_that_may_be_missing(void **state)
{
	static const int optional[] = {EMBED_TITLE, EMBED_THREAD_PROCESSES, EMBED_MARK_TIMES,
		EMBED_MARK_THREADS, EMBED_LINE_COUNTS, EMBED_FILES, EMBED_LINE_FILES};

	(void)state;
	for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++)
		columns[optional[i]].bytes = NULL;
	SET(63, "from the future");
	assert_int_equal(read_columns(), 0);
	assert_int_equal(calltree_total(tree), 7);
	assert_int_equal(facts.mark_count, 0);
}

static void test_stacks_are_turned_back(void **state)
{
	const struct calltree_node *leaf;

	(void)state;
	SET(EMBED_VIEW, "\x00\x00\x01");
	assert_int_equal(read_columns(), 0);
	assert_true(facts.is_reversed);
	leaf = calltree_node_at(tree, calltree_sample_at(tree, 1)->node);
	assert_string_equal(calltree_frame_at(tree, leaf->frame)->name, "main");
	leaf = calltree_node_at(tree, leaf->parent);
	assert_string_equal(calltree_frame_at(tree, leaf->frame)->name, "read");
	assert_int_equal(leaf->parent, CALLTREE_ROOT);
}

#define DAMAGE(tag, text, why)                   \
	{                                        \
		tag, text, sizeof(text) - 1, why \
	}

struct damage {
	enum embed_tag tag;
	const char *bytes;
	size_t count;
	const char *why;
};

static void check_damage(const struct damage *damage)
{
	columns[damage->tag].bytes = damage->bytes;
	columns[damage->tag].count = damage->count;
	assert_int_equal(read_columns(), -EBADMSG);
	if (!strstr(message.text, damage->why))
		fail_msg("%d: %s", damage->tag, message.text);
}

static void test_each_damage_to_old_samples_is_named(void **state)
{
	static const struct damage damages[] = {
		DAMAGE(EMBED_OLD_TIMES, "\x02\x05", "a sample of no time"),
		DAMAGE(EMBED_OLD_TIMES, "\x02", "less samples"),
		DAMAGE(EMBED_OLD_NODES, "\x02\x05", "a sample of no time"),
		DAMAGE(EMBED_OLD_NODES, "\x02\x04", "a sample of no time"),
		DAMAGE(EMBED_OLD_KINDS, "\x00\x03", "a sample of no time"),
		DAMAGE(EMBED_OLD_THREADS, "\x00\x01", "a sample of no time"),
		DAMAGE(EMBED_OLD_WEIGHTS, "\x02\xff\xff\xff\xff\x7f", "a sample of no time"),
	};

	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		tear_down(state);
		set_up(state);
		set_old_samples();
		check_damage(&damages[i]);
	}
}

static void test_each_damage_is_named(void **state)
{
	static const struct damage damages[] = {
		DAMAGE(EMBED_NUMBERS, "\x64", "no numbers"),
		DAMAGE(EMBED_NUMBERS, "\x64\x07\x00\x02\x02\x01\x02", "counts of what"),
		DAMAGE(EMBED_NUMBERS, "\x64\x07\xff\xff\xff\x7f\x02\x02\x01\x02", "counts of what"),
		DAMAGE(EMBED_NUMBERS, "\x64\x07\x03\x02\x02\x01\x7f", "counts of what"),
		DAMAGE(EMBED_MODULES, "\x00\x09libc", "modules without names"),
		DAMAGE(EMBED_NAME_LENGTHS, "\x04\x7f", "a function without its name"),
		DAMAGE(EMBED_FRAME_MODULES, "\x00\x02", "a function of no module or kind"),
		DAMAGE(EMBED_FRAME_KINDS, "\x00\x7f", "a function of no module or kind"),
		DAMAGE(EMBED_NODE_UPS, "\x00\x03", "a node above the root"),
		DAMAGE(EMBED_NODE_FRAMES, "\x00\x02", "a node without a function"),
		DAMAGE(EMBED_NODE_WEIGHTS, "\x00\x02\x85", "a node without its weight"),
		DAMAGE(EMBED_THREADS, "\x05t", "threads without names"),
		DAMAGE(EMBED_SAMPLE_TIMES, "\x02", "more or less samples"),
		DAMAGE(EMBED_SAMPLE_TIMES, "\x02\x02\x02", "more or less samples"),
		DAMAGE(EMBED_SAMPLE_TIMES, "0123456789", "more or less samples"),
		DAMAGE(EMBED_SAMPLE_KINDS, "", "more or less samples"),
		DAMAGE(EMBED_SAMPLE_NODES, "\x02\x05", "a sample of no time"),
		DAMAGE(EMBED_SAMPLE_NODES, "\x02\x04", "a sample of no time"),
		DAMAGE(EMBED_SAMPLE_THREADS, "\x00\x01", "a sample of no thread"),
		DAMAGE(EMBED_SAMPLE_KINDS, "\x00\x03", "a sample of no time"),
		DAMAGE(EMBED_TICK, "\xff\xff\xff\xff\xff\xff\xff\x7f", "a sample of no time"),
		DAMAGE(EMBED_TICK, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
			"a sample of no time"),
		DAMAGE(EMBED_MARK_TEXTS, "\x03hi", "a mark without"),
		DAMAGE(EMBED_FILES,
			"\x04"
			"a.c",
			"files without names"),
		DAMAGE(EMBED_LINE_FILES, "\x7f", "lines of files"),
		DAMAGE(EMBED_LINE_COUNTS, "\x00\x02", "a line of no file"),
		DAMAGE(EMBED_LINE_NUMBERS, "\x01", "a line of no file"),
	};

	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		tear_down(state);
		set_up(state);
		check_damage(&damages[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_all_of_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_planes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_samples_from_before_version_1, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_each_damage_to_old_samples_is_named, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_columns_that_may_be_missing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stacks_are_turned_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_each_damage_is_named, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
