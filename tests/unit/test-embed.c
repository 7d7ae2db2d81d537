/* SPDX-License-Identifier: MIT */
/* The data layer, read back by an independent reader, and the pieces it comes in. */
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

static int digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *found = c ? strchr(digits, c) : NULL;

	return found ? (int)(found - digits) : -1;
}

/* All pieces of @text as bytes; checks each piece's size. Returns an owned buffer. */
static uint8_t *decode(const char *text, size_t *length, unsigned *pieces)
{
	uint8_t *data = malloc(strlen(text));

	*length = *pieces = 0;
	while ((text = strstr(text, PIECE_OPEN))) {
		unsigned bits = 0, have = 0, characters = 0;

		text += strlen(PIECE_OPEN);
		for (; digit(*text) >= 0 || *text == '='; text++, characters++) {
			if (*text == '=')
				continue;
			bits = bits << 6 | (unsigned)digit(*text);
			have += 6;
			if (have >= 8) {
				have -= 8;
				data[(*length)++] = (uint8_t)(bits >> have);
			}
		}
		assert_memory_equal(text, "</piece>", 8);
		assert_in_range(characters, 4, 1 << 20);
		assert_int_equal(characters % 4, 0);
		++*pieces;
	}
	return data;
}

static uint8_t *inflate_all(uint8_t *data, size_t length, size_t *raw_length)
{
	const size_t room = 64u << 20;
	uint8_t *raw = malloc(room);
	z_stream stream = {.next_in = data,
		.avail_in = (uInt)length,
		.next_out = raw,
		.avail_out = (uInt)room};

	assert_int_equal(inflateInit2(&stream, -MAX_WBITS), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	*raw_length = stream.total_out;
	inflateEnd(&stream);
	return raw;
}

struct embedded {
	uint8_t *raw;
	unsigned pieces;
	struct column columns[32];
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
	assert_non_null(strstr(text, "<metadata id=\"flamerun\" data-version=\"1\">"));
	uint8_t *data = decode(text, &length, &embedded.pieces);

	embedded.raw = inflate_all(data, length, &raw_length);
	struct column all = {embedded.raw, embedded.raw + raw_length};

	while (all.at < all.end) {
		uint64_t tag = number(&all), bytes = number(&all);

		assert_true(tag < 32 && bytes <= (size_t)(all.end - all.at));
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

/* The two samples of the small tree, the second one earlier than the first. */
static void check_samples(struct column *columns)
{
	assert_int_equal(signed_number(&columns[EMBED_SAMPLE_TIMES]), 5000);
	assert_int_equal(signed_number(&columns[EMBED_SAMPLE_TIMES]), -2000);
	assert_int_equal(signed_number(&columns[EMBED_SAMPLE_NODES]), 3);
	assert_int_equal(signed_number(&columns[EMBED_SAMPLE_NODES]), -2);
	assert_memory_equal(columns[EMBED_SAMPLE_THREADS].at, "\1\0", 2);
	assert_memory_equal(columns[EMBED_SAMPLE_WEIGHTS].at, "\2\1", 2);
	assert_memory_equal(columns[EMBED_SAMPLE_KINDS].at, "\1\0", 2);
	assert_memory_equal(columns[EMBED_THREADS].at, "\0\6worker", 8);
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
	calltree_thread(tree, 1, "worker");
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
	const uint64_t numbers[] = {77, 0, 4, 3, 3, 2, 2, 90, 88, 89};

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
	assert_memory_equal(columns[EMBED_NODE_FRAMES].at, "\0\0\2\1", 4);
	assert_int_equal(number(&columns[EMBED_NODE_SELF]), 0);
	assert_int_equal(number(&columns[EMBED_NODE_SELF]), 0);
	assert_int_equal(number(&columns[EMBED_NODE_SELF]), UINT64_C(1) << 40);
	assert_int_equal(number(&columns[EMBED_NODE_SELF]), 300);
	assert_memory_equal(columns[EMBED_NODE_POPS].at, "\0\0\2", 3);
	check_samples(columns);
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
						  .width = 999,
						  .frame_height = 20,
						  .font_size = 12.5,
						  .min_width = 0.25});
	static const uint64_t view[] = {1, 1, 1, 999, 2000, 1250, 25};

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

static void test_large_data_comes_in_pieces(void **state)
{
	struct calltree *tree = calltree_new();
	uint64_t random = 88172645463325252u, sum = 0;

	(void)state;
	for (unsigned i = 0; i < 400000; i++) {
		char name[24];

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		snprintf(name, sizeof(name), "%llx", (unsigned long long)random);
		uint32_t frame = calltree_frame(tree, name, "", CALLTREE_NATIVE);

		calltree_add(tree, calltree_child(tree, CALLTREE_ROOT, frame), random & 0xffff);
		sum += random & 0xffff;
	}
	struct embedded got = embed(tree, &(struct picture_options){0});

	assert_true(got.pieces > 3);
	for (unsigned i = 0; i <= 400000; i++)
		sum -= number(&got.columns[EMBED_NODE_SELF]);
	assert_int_equal(sum, 0);
	assert_ptr_equal(got.columns[EMBED_NODE_SELF].at, got.columns[EMBED_NODE_SELF].end);
	free(got.raw);
	calltree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_tree_comes_back),
		cmocka_unit_test(test_the_view_is_told),
		cmocka_unit_test(test_large_data_comes_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
