/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Make styles from options: defaults, bounds, and font names that must not end the quotes around
 * them.
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

#include "render/style.h"

/* Returns the style for @options, with its palette already released. */
static struct style style_of(const struct picture_options *options)
{
	struct calltree *tree = calltree_new();
	struct style style;

	assert_int_equal(calltree_finish(tree), 0);
	assert_int_equal(style_init(&style, options, tree), 0);
	style_release(&style);
	calltree_free(tree);
	return style;
}

static double label_px(const struct picture_options *options)
{
	return style_of(options).fonts[FONT_LABEL].size_px;
}

static void check_px(double got, double wanted)
{
	if (fabs(got - wanted) > 1e-9)
		fail_msg("%g is not %g", got, wanted);
}

static void test_zero_is_the_default(void **state)
{
	struct style style = style_of(&(struct picture_options){0});

	(void)state;
	check_px(style.width_px, 1200);
	check_px(style.row_px, 18);
	check_px(style.narrowest_px, 0.5);
	check_px(style.fonts[FONT_LABEL].size_px, 11);
	check_px(style.fonts[FONT_TITLE].size_px, 17);
	assert_string_equal(style.title, "Flame graph");
	assert_string_equal(style.subtitle, "");
	assert_string_equal(style.count_name, "samples");
	assert_string_equal(style.family, "DejaVu Sans");
	assert_string_equal(style.css_family, FONT_CSS_FAMILY);
	assert_int_equal(style.ground, 0xffffff);
}

static void test_sizes_have_bounds(void **state)
{
	(void)state;
	check_px(style_of(&(struct picture_options){.width = 1}).width_px, PICTURE_WIDTH_MIN);
	check_px(style_of(&(struct picture_options){.width = 777}).width_px, 777);
	check_px(style_of(&(struct picture_options){.width = UINT32_MAX}).width_px,
		PICTURE_WIDTH_MAX);
	check_px(style_of(&(struct picture_options){.frame_height = 0.1}).row_px, PICTURE_ROW_MIN);
	check_px(style_of(&(struct picture_options){.frame_height = 1e9}).row_px, PICTURE_ROW_MAX);
	check_px(style_of(&(struct picture_options){.frame_height = 20.4}).row_px, 20);
	check_px(style_of(&(struct picture_options){.frame_height = -5}).row_px, 18);
	check_px(style_of(&(struct picture_options){.frame_height = NAN}).row_px, 18);
	check_px(style_of(&(struct picture_options){.min_width = 1e-9}).narrowest_px,
		PICTURE_NARROW_MIN);
	check_px(style_of(&(struct picture_options){.min_width = INFINITY}).narrowest_px,
		PICTURE_NARROW_MAX);
	check_px(label_px(&(struct picture_options){.font_size = 1}), PICTURE_FONT_MIN);
	check_px(label_px(&(struct picture_options){.font_size = 1000}), PICTURE_FONT_MAX);
}

static void test_labels_fit_their_rows(void **state)
{
	struct style large = style_of(&(struct picture_options){.font_size = 22});

	(void)state;
	/* One of the two sizes (font, row) determines the other. */
	check_px(large.row_px, 36);
	check_px(large.fonts[FONT_TITLE].size_px, 34);
	check_px(label_px(&(struct picture_options){.frame_height = 9}), 5.5);
	check_px(label_px(&(struct picture_options){.frame_height = 40}), 11);
	/* If both sizes are given, the row's height limits the font's size. */
	check_px(label_px(&(struct picture_options){.frame_height = 10, .font_size = 20}), 8);
	for (double px = 0.5; px < 100; px += 0.5) {
		struct style style = style_of(&(struct picture_options){.font_size = px});

		assert_true(style.fonts[FONT_LABEL].size_px <= 0.8 * style.row_px);
	}
}

static void test_faces_stay_in_their_quotes(void **state)
{
	(void)state;
	struct style style = style_of(&(struct picture_options){.font = "monospace"});

	assert_string_equal(style.css_family, "monospace," FONT_CSS_FAMILY);
	style = style_of(&(struct picture_options){.font = "Fira Code"});
	assert_string_equal(style.css_family, "'Fira Code'," FONT_CSS_FAMILY);
	assert_string_equal(style.family, "Fira Code");
	style = style_of(&(struct picture_options){.font = "a'b\"c<d>&e;f\\g{h}"});
	assert_string_equal(style.css_family, "'abcdefgh'," FONT_CSS_FAMILY);
	style = style_of(&(struct picture_options){.font = "'\"<"});
	assert_string_equal(style.css_family, FONT_CSS_FAMILY);

	char longest[500];

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	style = style_of(&(struct picture_options){.font = longest});
	assert_int_equal(
		strlen(style.css_family), strlen(style.family) + 3 + strlen(FONT_CSS_FAMILY));
}

static void test_ground_brings_its_inks(void **state)
{
	struct style style = style_of(&(struct picture_options){.ground = PICTURE_DARK});

	(void)state;
	assert_int_equal(style.ground, 0x14171c);
	assert_int_equal(style.fonts[FONT_LABEL].ink, 0xf5f1ea);
	assert_int_equal(style_of(&(struct picture_options){0}).fonts[FONT_LABEL].ink, 0x1f2328);
}

static void test_unknown_palettes_are_refused(void **state)
{
	struct calltree *tree = calltree_new();
	struct style style;

	(void)state;
	assert_int_equal(
		style_init(&style, &(struct picture_options){.palette = "x"}, tree), -EINVAL);
	calltree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zero_is_the_default),
		cmocka_unit_test(test_sizes_have_bounds),
		cmocka_unit_test(test_labels_fit_their_rows),
		cmocka_unit_test(test_faces_stay_in_their_quotes),
		cmocka_unit_test(test_ground_brings_its_inks),
		cmocka_unit_test(test_unknown_palettes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
