/* SPDX-License-Identifier: MIT */
/* Colours follow names, stay apart by kind, and carry their text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <math.h>

#include "render/palette.h"

static double linear(uint8_t value)
{
	double part = value / 255.0;

	return part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4);
}

/* WCAG 2.1 relative luminance. */
static double luminance(struct palette_color color)
{
	return 0.2126 * linear(color.red) + 0.7152 * linear(color.green) +
	       0.0722 * linear(color.blue);
}

static double contrast(struct palette_color a, struct palette_color b)
{
	double light = luminance(a), dark = luminance(b);

	return light > dark ? (light + 0.05) / (dark + 0.05) : (dark + 0.05) / (light + 0.05);
}

static void test_places_never_change(void **state)
{
	(void)state;
	/* Pictures of different versions are compared by eye: these numbers are a promise. */
	assert_int_equal(palette_place("main", CALLTREE_NATIVE), 2);
	assert_int_equal(palette_place("malloc", CALLTREE_NATIVE), 31);
}

static void test_kinds_do_not_share_places(void **state)
{
	unsigned kind_of[PALETTE_MAX];
	char name[16];

	(void)state;
	memset(kind_of, 0xff, sizeof(kind_of));
	kind_of[palette_root()] = kind_of[palette_merged()] = CALLTREE_KINDS;
	for (unsigned kind = 0; kind < CALLTREE_KINDS; kind++)
		for (unsigned i = 0; i < 2000; i++) {
			snprintf(name, sizeof(name), "f%u", i);
			unsigned place = palette_place(name, kind);

			assert_true(place < palette_size());
			assert_true(kind_of[place] == UINT32_MAX || kind_of[place] == kind);
			kind_of[place] = kind;
		}
	/* Every colour of the table is somebody's. */
	for (unsigned place = 0; place < palette_size(); place++)
		assert_true(kind_of[place] != UINT32_MAX);
}

static void test_text_is_readable_on_every_color(void **state)
{
	(void)state;
	for (unsigned place = 0; place < palette_size(); place++) {
		assert_true(contrast(palette_at(place, 0),
				    (struct palette_color){0x1f, 0x23, 0x28}) > 6);
		assert_true(contrast(palette_at(place, 1),
				    (struct palette_color){0xf5, 0xf1, 0xea}) > 4.5);
	}
}

static void test_native_code_is_warm(void **state)
{
	char name[16];

	(void)state;
	for (unsigned i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		struct palette_color color = palette_at(palette_place(name, CALLTREE_NATIVE), 0);

		assert_true(color.red > color.green && color.red > color.blue + 60);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places_never_change),
		cmocka_unit_test(test_kinds_do_not_share_places),
		cmocka_unit_test(test_text_is_readable_on_every_color),
		cmocka_unit_test(test_native_code_is_warm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
