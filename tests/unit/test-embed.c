/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Read the data embedded in a picture by an independent decoder, and check how the data is divided
 * into pieces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <zlib.h>

#include "render/bytes.h"
#include "render/embed.h"
#include "render/style.h"

#define PIECE_OPEN "<piece xmlns=\"urn:flamerun\">"

/*
 * Decode all pieces of @text and check the sizes of pieces and lines. Returns the bytes, owned by
 * the caller.
 */
static uint8_t *decode_pieces(const char *text, size_t *length, unsigned *pieces)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint8_t *data = malloc(strlen(text));

	*length = *pieces = 0;
	while ((text = strstr(text, PIECE_OPEN))) {
		const char *begin = text += strlen(PIECE_OPEN), *line = text;
		unsigned have = 0, padding = 0;
		uint32_t bits = 0;

		for (; *text != '<'; text++) {
			const char *digit = strchr(digits, *text);

			if (*text == '\n') {
				assert_true(text > line && text - line < 990);
				line = text + 1;
				continue;
			}
			padding += *text == '=';
			assert_true(*text == '=' ? have : digit && !padding);
			bits = bits << 6 | (uint32_t)(*text == '=' ? 0 : digit - digits);
			if (++have < 4)
				continue;
			for (unsigned i = 0; i < 3; i++)
				data[(*length)++] = (uint8_t)(bits >> (16 - 8 * i));
			bits = have = 0;
		}
		assert_true(!have && padding < 3);
		*length -= padding;
		assert_memory_equal(text, "</piece>", 8);
		assert_in_range(text - begin, 1, 1 << 20);
		++*pieces;
	}
	return data;
}

static uint8_t *unpack(uint8_t *data, size_t length, size_t *raw_length)
{
	const size_t room = 64u << 20;
	uint8_t *raw = malloc(room);
	z_stream stream = {.next_in = data,
		.avail_in = (uInt)length,
		.next_out = raw,
		.avail_out = (uInt)room};

	assert_int_equal(inflateInit(&stream), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	*raw_length = stream.total_out;
	inflateEnd(&stream);
	return raw;
}

struct column {
	const uint8_t *at, *end;
};

static uint64_t number(struct column *column)
{
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		assert_true(column->at < column->end && shift < 64);
		uint8_t byte = *column->at++;

		value |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return value;
	}
}

static int64_t signed_number(struct column *column)
{
	uint64_t value = number(column);

	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

struct embedded {
	uint8_t *raw;
	unsigned pieces;
	struct column columns[64];
};

static struct embedded embed(struct calltree *tree, const struct picture_options *options)
{
	struct embedded embedded = {0};
	struct preorder preorder;
	struct style style;
	char *text = NULL;
	size_t text_length, length, raw_length;
	FILE *out = open_memstream(&text, &text_length);

	assert_int_equal(calltree_finish(tree), 0);
	assert_int_equal(preorder_init(&preorder, tree), 0);
	assert_int_equal(style_init(&style, options, tree), 0);
	assert_int_equal(embed_write(tree, &preorder, &style, out), 0);
	style_release(&style);
	fclose(out);
	preorder_release(&preorder);
	assert_non_null(strstr(text, "<metadata id=\"flamerun\" data-format=\"1\">"));
	uint8_t *data = decode_pieces(text, &length, &embedded.pieces);

	embedded.raw = unpack(data, length, &raw_length);
	struct column all = {embedded.raw, embedded.raw + raw_length};

	while (all.at < all.end) {
		uint64_t tag = number(&all), bytes = number(&all);

		assert_true(tag < 64 && bytes <= (size_t)(all.end - all.at));
		embedded.columns[tag] = (struct column){all.at, all.at + bytes};
		all.at += bytes;
	}
	free(data);
	free(text);
	return embedded;
}

static void check_text(struct column column, const char *wanted)
{
	assert_int_equal(column.end - column.at, strlen(wanted));
	assert_memory_equal(column.at, wanted, strlen(wanted));
}

static void check_bytes(struct column column, const char *wanted, size_t count)
{
	assert_int_equal(column.end - column.at, count);
	assert_memory_equal(column.at, wanted, count);
}
#define CHECK_BYTES(column, text) check_bytes(column, text, sizeof(text) - 1)

/*
 * Check the tree's two samples: one at 3000 us and one 2000 us later. The test added them in
 * reverse order.
 */
static void check_samples(struct column *columns)
{
	CHECK_BYTES(columns[EMBED_TICK], "\1");
	CHECK_BYTES(columns[EMBED_SAMPLE_TIMES], "\xb8\xd0\x0b\x07");
	CHECK_BYTES(columns[EMBED_SAMPLE_NODES], "\2\6");
	CHECK_BYTES(columns[EMBED_SAMPLE_THREADS], "\0\1");
	CHECK_BYTES(columns[EMBED_SAMPLE_WEIGHTS], "\1\2");
	CHECK_BYTES(columns[EMBED_SAMPLE_KINDS], "\0\1");
	assert_memory_equal(columns[EMBED_THREADS].at, "\0\6worker", 8);
}

struct node {
	uint32_t frame, parent;
	uint64_t self;
};

/*
 * Read the nodes and check that no bytes of their columns are left. Returns the nodes in order,
 * owned by the caller.
 */
static struct node *read_nodes(struct embedded *got, uint32_t nodes, uint32_t frames)
{
	struct column *columns = got->columns;
	struct node *read = calloc(nodes, sizeof(*read));

	read[0] = (struct node){frames, 0, number(&columns[EMBED_NODE_WEIGHTS])};
	for (uint32_t i = 1; i < nodes; i++) {
		uint32_t parent = i - 1;

		for (uint64_t up = number(&columns[EMBED_NODE_UPS]); up; up--) {
			assert_int_not_equal(parent, 0);
			parent = read[parent].parent;
		}
		read[i].parent = parent;
		read[i].frame = (uint32_t)number(&columns[EMBED_NODE_FRAMES]);
		read[i].self = number(&columns[EMBED_NODE_WEIGHTS]);
	}
	for (unsigned tag = EMBED_NODE_UPS; tag <= EMBED_NODE_WEIGHTS; tag++)
		assert_ptr_equal(columns[tag].at, columns[tag].end);
	return read;
}

static void check_nodes(
	struct embedded *got, const struct node *wanted, uint32_t nodes, uint32_t frames)
{
	struct node *read = read_nodes(got, nodes, frames);

	for (uint32_t i = 0; i < nodes; i++) {
		assert_int_equal(read[i].frame, wanted[i].frame);
		assert_int_equal(read[i].parent, wanted[i].parent);
		assert_int_equal(read[i].self, wanted[i].self);
	}
	free(read);
}

static void test_small_tree_comes_back(void **state)
{
	struct calltree *tree = calltree_new();
	uint32_t a = calltree_child(
		tree, CALLTREE_ROOT, calltree_frame(tree, "a]]>\xff", "prog", CALLTREE_NATIVE));
	uint32_t c = calltree_child(tree, a, calltree_frame(tree, "c", "lib", CALLTREE_JIT));
	uint32_t b =
		calltree_child(tree, CALLTREE_ROOT, calltree_frame(tree, "b", "", CALLTREE_THREAD));

	(void)state;
	calltree_add(tree, c, UINT64_C(1) << 40);
	calltree_add(tree, b, 300);
	calltree_thread(tree, 1, "worker", "");
	calltree_sample(tree, &(struct calltree_sample){.time_ns = 5000000,
				      .node = b,
				      .weight = 2,
				      .thread = 1,
				      .kind = CALLTREE_CREDIT});
	calltree_sample(
		tree, &(struct calltree_sample){.time_ns = 3000000, .node = a, .weight = 1});
	struct embedded got = embed(tree, &(struct picture_options){.title = "T", .period_ns = 77});
	struct column *columns = got.columns;

	check_text(columns[EMBED_TITLE], "T");
	check_text(columns[EMBED_SUBTITLE], "");
	const uint64_t numbers[] = {77, 0, 4, 3, 3, 2, 2, 101, 93, 94};

	for (size_t i = 0; i < 10; i++)
		assert_int_equal(number(&columns[EMBED_NUMBERS]), numbers[i]);
	check_text(columns[EMBED_NAMES], "a]]>\xff"
					 "bc");
	check_text(columns[EMBED_NAME_LENGTHS], "\5\1\1");
	check_text(columns[EMBED_MODULES] = (struct column){columns[EMBED_MODULES].at + 1,
			   columns[EMBED_MODULES].end},
		"\3lib\4prog");
	assert_memory_equal(columns[EMBED_FRAME_MODULES].at, "\2\0\1", 3);
	assert_memory_equal(columns[EMBED_FRAME_KINDS].at, "\0\5\1", 3);
	check_nodes(&got,
		(struct node[]){{3, 0, 0}, {0, 0, 0}, {2, 1, UINT64_C(1) << 40}, {1, 0, 300}}, 4,
		3);
	check_samples(columns);
	free(got.raw);
	calltree_free(tree);
}

static void check_numbers(struct column column, const uint64_t *wanted, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(number(&column), wanted[i]);
	assert_ptr_equal(column.at, column.end);
}
#define CHECK_NUMBERS(column, ...)                             \
	check_numbers(column, (const uint64_t[]){__VA_ARGS__}, \
		sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void test_lines_have_columns(void **state)
{
	static const int64_t steps[] = {5, 15, -17, 100, -1, -1, -1, -1, -1, -1, -1};
	struct calltree *tree = calltree_new();
	/* The numbers of these frames are in another order than their names. */
	uint32_t c = calltree_frame(tree, "c", "", CALLTREE_NATIVE);
	uint32_t b = calltree_frame(tree, "b", "", CALLTREE_NATIVE);
	uint32_t a = calltree_frame(tree, "a", "", CALLTREE_NATIVE);
	struct embedded got;

	(void)state;
	calltree_add(tree, calltree_child(tree, CALLTREE_ROOT, b), 1);
	for (uint32_t i = 0; i < 11; i++)
		calltree_add_line(tree, &(struct calltree_line){.frame = c,
						.line = 103 - i,
						.file = i == 9 ? "never.h" : "z.h",
						.self = i == 1,
						.total = 50 - i});
	calltree_add_line(tree, &(struct calltree_line){a, 5, "z.h", 200, 300, 120});
	calltree_add_line(tree, &(struct calltree_line){a, 20, "a.c", 0, 30, 0});
	calltree_add_line(tree, &(struct calltree_line){a, 3, "", 7, 7, 0});
	got = embed(tree, &(struct picture_options){0});
	assert_int_equal(got.columns[EMBED_FILES].end - got.columns[EMBED_FILES].at, 9);
	assert_memory_equal(got.columns[EMBED_FILES].at, "\0\3a.c\3z.h", 9);
	CHECK_NUMBERS(got.columns[EMBED_LINE_COUNTS], 3, 0, 8);
	CHECK_NUMBERS(got.columns[EMBED_LINES_MORE], 0, 0, 3);
	CHECK_NUMBERS(got.columns[EMBED_LINE_FILES], 2, 1, 0, 2, 2, 2, 2, 2, 2, 2, 2);
	for (size_t i = 0; i < 11; i++)
		assert_int_equal(signed_number(&got.columns[EMBED_LINE_NUMBERS]), steps[i]);
	CHECK_NUMBERS(got.columns[EMBED_LINE_SELVES], 200, 0, 7, 0, 1, 0, 0, 0, 0, 0, 0);
	CHECK_NUMBERS(got.columns[EMBED_LINE_TOTALS], 300, 30, 7, 50, 49, 48, 47, 46, 45, 44, 43);
	CHECK_NUMBERS(got.columns[EMBED_LINE_WAITS], 120, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	free(got.raw);
	calltree_free(tree);
	/* No lines, no columns. */
	tree = calltree_new();
	got = embed(tree, &(struct picture_options){0});
	assert_null(got.columns[EMBED_FILES].at);
	assert_null(got.columns[EMBED_LINE_COUNTS].at);
	free(got.raw);
	calltree_free(tree);
}

static void test_the_view_is_told(void **state)
{
	struct calltree *tree = calltree_new();
	struct embedded got = embed(tree, &(struct picture_options){.count_name = "misses",
						  .notes = "a\nb",
						  .palette = "io",
						  .direction = PICTURE_ICICLE,
						  .ground = PICTURE_DARK,
						  .is_reversed = 1,
						  .whole_names = 1,
						  .times = CALLTREE_TIMES_BOTH,
						  .by_thread = 1,
						  .width = 999,
						  .frame_height = 20,
						  .font_size = 12.5,
						  .min_width = 0.25});
	static const uint64_t view[] = {1, 1, 1, 999, 2000, 1250, 25, 1, 2, 0, 1};

	(void)state;
	check_text(got.columns[EMBED_COUNT_NAME], "misses");
	check_text(got.columns[EMBED_NOTES], "a\nb");
	check_text(got.columns[EMBED_PALETTE], "io");
	check_text(got.columns[EMBED_FONT], FONT_CSS_FAMILY);
	for (size_t i = 0; i < sizeof(view) / sizeof(view[0]); i++)
		assert_int_equal(number(&got.columns[EMBED_VIEW]), view[i]);
	assert_ptr_equal(got.columns[EMBED_VIEW].at, got.columns[EMBED_VIEW].end);
	free(got.raw);
	calltree_free(tree);
}

static void test_marks_have_columns(void **state)
{
	const struct picture_mark marks[] = {
		{1000, 1, "one"}, {300000, 2, ""}, {300999, 1, "e\xff"}};
	struct calltree *tree = calltree_new();
	struct embedded got =
		embed(tree, &(struct picture_options){.marks = marks, .mark_count = 3});

	(void)state;
	assert_memory_equal(got.columns[EMBED_MARK_TIMES].at, "\1\xab\2\0", 4); /* 1, 299, 0 */
	assert_int_equal(got.columns[EMBED_MARK_TIMES].end - got.columns[EMBED_MARK_TIMES].at, 4);
	assert_memory_equal(got.columns[EMBED_MARK_TEXTS].at, "\3one\0\2e\xff", 8);
	free(got.raw);
	got = embed(tree, &(struct picture_options){0});
	assert_null(got.columns[EMBED_MARK_TIMES].at);
	free(got.raw);
	calltree_free(tree);
}

/*
 * Samples without times are not embedded, because flamerun uses them only to distinguish threads.
 */
static void test_samples_without_times_stay_out(void **state)
{
	struct calltree *tree = calltree_new();

	(void)state;
	for (int i = 0; i < 3; i++)
		calltree_sample(tree, &(struct calltree_sample){.weight = 1});
	struct embedded got = embed(tree, &(struct picture_options){0});

	assert_true(got.columns[EMBED_SAMPLE_TIMES].at == got.columns[EMBED_SAMPLE_TIMES].end);
	for (int i = 0; i < 6; i++)
		number(&got.columns[EMBED_NUMBERS]);
	assert_int_equal(number(&got.columns[EMBED_NUMBERS]), 0);
	free(got.raw);
	calltree_free(tree);
}

/*
 * Use long random names, which cannot be compressed, so that few nodes already need more than one
 * piece.
 */
static void test_large_data_comes_in_pieces(void **state)
{
	enum {
		FRAMES = 70000,
		WORDS = 6
	};
	struct calltree *tree = calltree_new();
	uint64_t random = 88172645463325252u, sum = 0;

	(void)state;
	for (unsigned i = 0; i < FRAMES; i++) {
		char name[16 * WORDS + 1];

		for (unsigned word = 0; word < WORDS; word++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			snprintf(name + 16 * word, 17, "%016llx", (unsigned long long)random);
		}
		uint32_t frame = calltree_frame(tree, name, "", CALLTREE_NATIVE);

		calltree_add(tree, calltree_child(tree, CALLTREE_ROOT, frame), random & 0xffff);
		sum += random & 0xffff;
	}
	struct embedded got = embed(tree, &(struct picture_options){0});

	assert_true(got.pieces > 3);
	struct node *read = read_nodes(&got, FRAMES + 1, FRAMES);

	for (unsigned i = 0; i <= FRAMES; i++)
		sum -= read[i].self;
	assert_int_equal(sum, 0);
	free(read);
	free(got.raw);
	calltree_free(tree);
}

/*
 * Make a random tree like a program's: functions recur, some callers have many callees, weights
 * vary.
 */
static struct calltree *grow(unsigned seed, uint32_t nodes, uint32_t frames)
{
	struct calltree *tree = calltree_new();
	uint64_t random = 88172645463325252u + seed;
	uint32_t last = CALLTREE_ROOT;

	for (uint32_t i = 1; i < nodes; i++) {
		char name[24];

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		snprintf(name, sizeof(name), "f%u",
			(unsigned)(random >> 8) % ((random & 3) ? 7 : frames));
		last = calltree_child(tree,
			random >> 40 & 3 ? last : (uint32_t)(random >> 44) % calltree_nodes(tree),
			calltree_frame(tree, name, "", CALLTREE_NATIVE));
		calltree_add(tree, last, random & 16 ? random >> (32 + (random >> 8 & 31)) : 0);
	}
	return tree;
}

static void test_trees_come_back(void **state)
{
	static const struct {
		uint32_t nodes, frames;
	} shapes[] = {{1, 1}, {2, 1}, {300, 3}, {40000, 500}, {60000, 9}, {150000, 100000}};

	(void)state;
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct calltree *tree = grow(i, shapes[i].nodes, shapes[i].frames);
		struct embedded got = embed(tree, &(struct picture_options){0});
		struct preorder order;

		assert_int_equal(preorder_init(&order, tree), 0);
		struct node *wanted = calloc(order.nodes, sizeof(*wanted));

		for (uint32_t at = 0; at < order.nodes; at++) {
			const struct calltree_node *node = calltree_node_at(tree, order.order[at]);

			wanted[at] = (struct node){at ? order.rank[node->frame] : order.frames,
				at ? order.position[node->parent] : 0, node->self};
		}
		check_nodes(&got, wanted, order.nodes, order.frames);
		free(wanted);
		preorder_release(&order);
		free(got.raw);
		calltree_free(tree);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_tree_comes_back),
		cmocka_unit_test(test_lines_have_columns),
		cmocka_unit_test(test_the_view_is_told),
		cmocka_unit_test(test_marks_have_columns),
		cmocka_unit_test(test_samples_without_times_stay_out),
		cmocka_unit_test(test_trees_come_back),
		cmocka_unit_test(test_large_data_comes_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
