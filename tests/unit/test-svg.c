/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Draw whole pictures: equal trees give equal bytes, and hostile or empty trees give valid
 * pictures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <zlib.h>

#include "render/palette.h"
#include "render/picture.h"

struct picture {
	char *bytes;
	size_t length;
};

typedef int (*write_picture)(
	const struct calltree *tree, const struct picture_options *options, FILE *out);

static struct picture write_to_memory(
	const struct calltree *tree, const struct picture_options *options, write_picture write)
{
	struct picture picture = {0};
	FILE *out = open_memstream(&picture.bytes, &picture.length);

	assert_int_equal(write(tree, options, out), 0);
	fclose(out);
	return picture;
}

static struct calltree *build(int backwards)
{
	static const char *const names[] = {
		"main", "</script>", "]]>", "a&b", "\"'", "\xff\xfe", "z"};
	const unsigned count = sizeof(names) / sizeof(names[0]);
	struct calltree *tree = calltree_new();

	for (unsigned i = 0; i < count; i++) {
		const char *name = names[backwards ? count - 1 - i : i];
		uint32_t node = calltree_child(
			tree, CALLTREE_ROOT, calltree_frame(tree, name, "prog", CALLTREE_NATIVE));

		calltree_add(tree, node, 10);
	}
	assert_int_equal(calltree_finish(tree), 0);
	return tree;
}

static void check_same(write_picture write)
{
	struct calltree *one = build(0), *two = build(1);
	struct picture_options options = {.title = "]]>", .subtitle = "<&\xff"};
	struct picture first = write_to_memory(one, &options, write);
	struct picture second = write_to_memory(two, &options, write);

	assert_int_equal(first.length, second.length);
	assert_memory_equal(first.bytes, second.bytes, first.length);
	free(first.bytes);
	free(second.bytes);
	calltree_free(one);
	calltree_free(two);
}

static void test_equal_trees_give_equal_bytes(void **state)
{
	(void)state;
	check_same(picture_write_svg);
	check_same(picture_write_png);
	check_same(picture_write_pdf);
}

/*
 * Return whether @text is in @pdf or in one of its streams, because cairo 1.18 compresses metadata.
 */
static bool pdf_has(const struct picture *pdf, const char *text)
{
	static const char begin[] = "stream\n";
	const char *at = pdf->bytes, *end = pdf->bytes + pdf->length;
	bool found = memmem(at, pdf->length, text, strlen(text));
	char unpacked[65536];

	while (!found && (at = memmem(at, (size_t)(end - at), begin, strlen(begin))) != NULL) {
		z_stream stream = {.next_out = (Bytef *)unpacked, .avail_out = sizeof(unpacked)};

		at += strlen(begin);
		stream.next_in = (Bytef *)(uintptr_t)at;
		stream.avail_in = (uInt)(end - at);
		assert_int_equal(inflateInit(&stream), Z_OK);
		inflate(&stream, Z_FINISH);
		inflateEnd(&stream);
		found = memmem(unpacked, sizeof(unpacked) - stream.avail_out, text, strlen(text));
	}
	return found;
}

/*
 * By default cairo writes the time of day, which would differ only if the test took more than a
 * second.
 */
static void test_a_pdf_has_the_date_it_was_given(void **state)
{
	struct calltree *tree = build(0);
	struct picture none =
		write_to_memory(tree, &(struct picture_options){0}, picture_write_pdf);
	struct picture dated = write_to_memory(
		tree, &(struct picture_options){.created_s = 1000000000}, picture_write_pdf);

	(void)state;
	assert_memory_equal(none.bytes, "%PDF", 4);
	assert_true(pdf_has(&none, "/Producer"));
	assert_false(pdf_has(&none, "CreationDate"));
	assert_true(pdf_has(&dated, "/CreationDate (20010909014640"));
	assert_false(pdf_has(&dated, "ModDate"));
	free(none.bytes);
	free(dated.bytes);
	calltree_free(tree);
}

static unsigned count(const char *text, const char *wanted)
{
	unsigned found = 0;

	for (; (text = strstr(text, wanted)); text++)
		found++;
	return found;
}

static void test_names_cannot_leave_their_place(void **state)
{
	struct calltree *tree = build(0);
	struct picture picture = write_to_memory(tree,
		&(struct picture_options){.title = "</title><script>x</script>"},
		picture_write_svg);

	(void)state;
	assert_int_equal(count(picture.bytes, "<script"), 1);
	assert_int_equal(count(picture.bytes, "</script>"), 1);
	assert_int_equal(count(picture.bytes, "<![CDATA["), 1);
	assert_int_equal(count(picture.bytes, "]]>"), 1);
	assert_int_equal(count(picture.bytes, "<svg"), 1);
	assert_int_equal(count(picture.bytes, "</svg>"), 1);
	free(picture.bytes);
	calltree_free(tree);
}

/*
 * The tree has so many labels that text is written as text elements, with the font's name in an
 * attribute.
 */
static void test_faces_cannot_leave_their_attribute(void **state)
{
	struct calltree *tree = calltree_new();
	struct picture_options options = {.font = "x\"/><script>y</script>'&", .width = 16000};
	char name[64];

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "a_function_with_a_name_%u", i);
		calltree_add(tree,
			calltree_child(tree, CALLTREE_ROOT,
				calltree_frame(tree, name, "", CALLTREE_NATIVE)),
			1);
	}
	assert_int_equal(calltree_finish(tree), 0);
	struct picture picture = write_to_memory(tree, &options, picture_write_svg);

	assert_int_equal(count(picture.bytes, "font-family=\"'x/scripty/script',"), 4);
	assert_int_equal(count(picture.bytes, "<script"), 1);
	free(picture.bytes);
	calltree_free(tree);
}

/* Make as many wide boxes as possible, whose names become longer when they are escaped. */
static void test_the_static_layer_is_bounded(void **state)
{
	struct calltree *tree = calltree_new();
	char name[64];

	(void)state;
	for (unsigned i = 0; i < 106; i++) {
		uint32_t node = CALLTREE_ROOT;

		for (unsigned row = 0; row < 149; row++) {
			snprintf(name, sizeof(name), "f%u_%u_&&&&&&&&&&&&&&&&&&&&", i, row);
			node = calltree_child(
				tree, node, calltree_frame(tree, name, "", CALLTREE_NATIVE));
		}
		calltree_add(tree, node, 1);
	}
	assert_int_equal(calltree_finish(tree), 0);
	struct picture picture =
		write_to_memory(tree, &(struct picture_options){.width = 16000}, picture_write_svg);
	const char *layer = strstr(picture.bytes, "<g id=\"flamerun-static\">");

	assert_non_null(layer);
	assert_in_range(picture.length - (size_t)(layer - picture.bytes), 300000, 700000);
	/* Boxes near the root have labels. */
	assert_true(count(layer, ">f0_0_") == 1 && count(layer, ">f105_0_") == 1);
	free(picture.bytes);
	calltree_free(tree);
}

/* Count the strokes that have the colour of the root's box. cairo writes colours in percent. */
static unsigned count_root_strokes(const struct calltree *tree, const char *svg, int dark)
{
	char style[32], attribute[32];
	struct palette palette;
	double percent;

	assert_int_equal(palette_init(&palette, NULL, tree), 0);
	percent = floor(palette_at(&palette, palette_root(&palette), dark).red / 0.0255) / 100;
	palette_release(&palette);
	/* cairo writes an attribute since version 1.18, and a style before. */
	snprintf(style, sizeof(style), "stroke:rgb(%.2f", percent);
	snprintf(attribute, sizeof(attribute), "stroke=\"rgb(%.2f", percent);
	return count(svg, style) + count(svg, attribute);
}

static void test_the_ground_is_drawn(void **state)
{
	struct calltree *tree = build(0);
	struct picture light =
		write_to_memory(tree, &(struct picture_options){0}, picture_write_svg);
	struct picture dark = write_to_memory(
		tree, &(struct picture_options){.ground = PICTURE_DARK}, picture_write_svg);

	(void)state;
	assert_int_equal(count_root_strokes(tree, light.bytes, 0), 1);
	assert_int_equal(count_root_strokes(tree, dark.bytes, 1), 1);
	assert_int_equal(count_root_strokes(tree, dark.bytes, 0), 0);
	/* 20/255, 23/255, 28/255. */
	assert_int_equal(count(light.bytes, "rgb(7.843137%"), 0);
	assert_true(count(dark.bytes, "rgb(7.843137%") > 0);
	assert_int_equal(count(dark.bytes, "rgb(100%,100%,100%)"), 0);
	assert_int_equal(count(dark.bytes, "rgb(100%, 100%, 100%)"), 0);
	free(light.bytes);
	free(dark.bytes);
	calltree_free(tree);
}

static void test_an_empty_tree_is_said(void **state)
{
	struct calltree *tree = calltree_new();

	(void)state;
	assert_int_equal(calltree_finish(tree), 0);
	struct picture svg = write_to_memory(tree, &(struct picture_options){0}, picture_write_svg);
	struct picture png = write_to_memory(tree, &(struct picture_options){0}, picture_write_png);

	assert_memory_equal(png.bytes, "\x89PNG", 4);
	assert_int_equal(count(svg.bytes, "</svg>"), 1);
	struct picture pdf = write_to_memory(tree, &(struct picture_options){0}, picture_write_pdf);

	assert_memory_equal(pdf.bytes, "%PDF", 4);
	free(pdf.bytes);
	free(svg.bytes);
	free(png.bytes);
	calltree_free(tree);
}

static void test_odd_widths_are_drawn(void **state)
{
	static const uint32_t widths[] = {1, 241, 16000, UINT32_MAX};
	struct calltree *tree = build(0);

	(void)state;
	for (unsigned i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		struct picture_options options = {.width = widths[i]};
		struct picture png = write_to_memory(tree, &options, picture_write_png);

		assert_memory_equal(png.bytes, "\x89PNG", 4);
		free(png.bytes);
		struct picture pdf = write_to_memory(tree, &options, picture_write_pdf);

		assert_memory_equal(pdf.bytes, "%PDF", 4);
		free(pdf.bytes);
	}
	calltree_free(tree);
}

static void test_a_full_disk_is_an_error(void **state)
{
	struct calltree *tree = build(0);
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	setvbuf(full, NULL, _IONBF, 0);
	assert_true(picture_write_svg(tree, &(struct picture_options){0}, full) < 0);
	assert_true(picture_write_png(tree, &(struct picture_options){0}, full) < 0);
	assert_int_equal(picture_write_pdf(tree, &(struct picture_options){0}, full), -ENOSPC);
	fclose(full);
	calltree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_trees_give_equal_bytes),
		cmocka_unit_test(test_a_pdf_has_the_date_it_was_given),
		cmocka_unit_test(test_names_cannot_leave_their_place),
		cmocka_unit_test(test_faces_cannot_leave_their_attribute),
		cmocka_unit_test(test_the_static_layer_is_bounded),
		cmocka_unit_test(test_the_ground_is_drawn),
		cmocka_unit_test(test_an_empty_tree_is_said),
		cmocka_unit_test(test_odd_widths_are_drawn),
		cmocka_unit_test(test_a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
