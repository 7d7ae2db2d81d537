/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * In every palette, colours depend only on names, differ between kinds of frames, and have enough
 * contrast with text.
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

#include "render/palette.h"
#include "render/picture.h"

static double linear(uint8_t value)
{
	double part = value / 255.0;

	return part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4);
}

/* Relative luminance as in WCAG 2.1. */
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

/*
 * Make a palette for a tree of one frame. Returns the index of the frame's colour in the palette.
 */
static unsigned place_of(struct palette *palette, const char *scheme, const char *name,
	const char *module, enum calltree_frame_kind kind)
{
	struct calltree *tree = calltree_new();
	uint32_t frame = calltree_frame(tree, name, module, kind);

	assert_int_equal(calltree_finish(tree), 0);
	assert_int_equal(palette_init(palette, scheme, tree), 0);
	unsigned place = palette_index(palette, frame);

	palette_release(palette);
	calltree_free(tree);
	return place;
}

/*
 * Returns the hue of the frame's light colour in degrees, in a range that begins at -30; red is 0.
 */
static double hue_of(
	const char *scheme, const char *name, const char *module, enum calltree_frame_kind kind)
{
	struct palette palette;
	unsigned place = place_of(&palette, scheme, name, module, kind);
	struct palette_color color = palette_at(&palette, place, 0);
	double hue = atan2(sqrt(3) * (color.green - color.blue),
			     2.0 * color.red - color.green - color.blue) *
		     180 / M_PI;

	return hue < -30 ? hue + 360 : hue;
}

static void test_places_never_change(void **state)
{
	struct palette palette;

	(void)state;
	/*
	 * These indices must not change, because people compare pictures that several versions
	 * drew.
	 */
	assert_int_equal(place_of(&palette, NULL, "main", "", CALLTREE_NATIVE), 2);
	assert_int_equal(place_of(&palette, "hot", "malloc", "x", CALLTREE_NATIVE), 31);
}

static void test_names_are_checked(void **state)
{
	struct calltree *tree = calltree_new();
	struct palette palette;
	unsigned count = 0;

	(void)state;
	for (const char *const *name = palette_names(); *name; name++, count++) {
		assert_int_equal(palette_init(&palette, *name, tree), 0);
		assert_string_equal(palette_name(&palette), *name);
		palette_release(&palette);
	}
	assert_int_equal(count, 16);
	assert_string_equal(palette_names()[0], "hot");
	assert_int_equal(palette_init(&palette, "Hot", tree), -EINVAL);
	assert_int_equal(palette_init(&palette, "", tree), -EINVAL);
	calltree_free(tree);
}

/* In the palette "hot", frames of different kinds never share a colour. */
static void test_kinds_do_not_share_places(void **state)
{
	unsigned kind_of[PALETTE_MAX];
	struct calltree *tree = calltree_new();
	struct palette palette;
	char name[16];

	(void)state;
	memset(kind_of, 0xff, sizeof(kind_of));
	for (unsigned i = 0; i < 2000 * CALLTREE_KINDS; i++) {
		snprintf(name, sizeof(name), "f%u", i / CALLTREE_KINDS);
		assert_int_equal(calltree_frame(tree, name,
					 i % CALLTREE_KINDS == CALLTREE_WAIT
						 ? palette_waits[i % PALETTE_WAITS].module
						 : "",
					 i % CALLTREE_KINDS),
			i);
	}
	assert_int_equal(palette_init(&palette, NULL, tree), 0);
	kind_of[palette_root(&palette)] = kind_of[palette_merged(&palette)] = CALLTREE_KINDS;
	for (unsigned i = 0; i < 2000 * CALLTREE_KINDS; i++) {
		unsigned place = palette_index(&palette, i), kind = i % CALLTREE_KINDS;

		assert_true(place < palette_size(&palette));
		assert_true(kind_of[place] == UINT32_MAX || kind_of[place] == kind);
		kind_of[place] = kind;
	}
	/* Each colour of the table is used. */
	for (unsigned place = 0; place < palette_size(&palette); place++)
		assert_true(kind_of[place] != UINT32_MAX);
	palette_release(&palette);
	calltree_free(tree);
}

/*
 * Make a tree with names that match each rule of the palettes, for every kind, with and without a
 * module.
 */
static struct calltree *build_names(void)
{
	static const char *const names[] = {"f", "a::b", "x_[k]", "x_[j]", "x_[i]", "x_[z]", "_[k]",
		"Ljava/lang/String;::hash", "com.acme.Main.run", "JS:~f a.js:1", "Builtins_Call",
		"Interpreter", "Perl_pp_add", "main.pl", "", "L", "[x+0x1]"};
	const unsigned count = sizeof(names) / sizeof(names[0]);
	struct calltree *tree = calltree_new();

	for (unsigned i = 0; i < count * CALLTREE_KINDS * 2; i++)
		calltree_frame(tree, names[i % count], i / count % 2 ? "lib" : "",
			i / count / 2 % CALLTREE_KINDS);
	assert_int_equal(calltree_finish(tree), 0);
	return tree;
}

static void test_every_palette_fits_its_table(void **state)
{
	struct calltree *tree = build_names();
	struct palette palette;

	(void)state;
	for (const char *const *name = palette_names(); *name; name++) {
		assert_int_equal(palette_init(&palette, *name, tree), 0);
		assert_in_range(palette_size(&palette), 10, PALETTE_MAX);
		for (uint32_t i = 0; i < calltree_frames(tree); i++) {
			assert_true(palette_index(&palette, i) < palette_size(&palette));
			assert_int_not_equal(palette_index(&palette, i), palette_root(&palette));
			assert_int_not_equal(palette_index(&palette, i), palette_merged(&palette));
		}
		palette_release(&palette);
	}
	calltree_free(tree);
}

static void test_text_is_readable_on_every_color(void **state)
{
	struct calltree *tree = calltree_new();
	struct palette palette;

	(void)state;
	for (const char *const *name = palette_names(); *name; name++) {
		assert_int_equal(palette_init(&palette, *name, tree), 0);
		for (unsigned place = 0; place < palette_size(&palette); place++) {
			double light = contrast(palette_at(&palette, place, 0),
				(struct palette_color){0x1f, 0x23, 0x28});
			double dark = contrast(palette_at(&palette, place, 1),
				(struct palette_color){0xf5, 0xf1, 0xea});

			if (light < 5.5 || dark < 4.5)
				fail_msg("%s, place %u: %.2f on light, %.2f on dark", *name, place,
					light, dark);
		}
		palette_release(&palette);
	}
	calltree_free(tree);
}

static void test_ranges_have_their_hue(void **state)
{
	static const struct {
		const char *palette;
		double from, to;
	} ranges[] = {{"hot", 0, 60}, {"red", -10, 20}, {"orange", 20, 50}, {"yellow", 40, 75},
		{"green", 75, 150}, {"mem", 90, 190}, {"aqua", 160, 220}, {"blue", 190, 235},
		{"io", 210, 275}, {"purple", 265, 330}};
	char name[16];

	(void)state;
	for (unsigned r = 0; r < sizeof(ranges) / sizeof(ranges[0]); r++)
		for (unsigned i = 0; i < 200; i++) {
			snprintf(name, sizeof(name), "f%u", i);
			double hue = hue_of(ranges[r].palette, name, "", CALLTREE_NATIVE);

			if (hue < ranges[r].from || hue > ranges[r].to)
				fail_msg("%s has a hue of %.0f", ranges[r].palette, hue);
		}
}

static void test_languages_are_told_apart(void **state)
{
	static const struct {
		enum palette_class (*classify)(const struct calltree_frame *frame);
		const char *name;
		enum calltree_frame_kind kind;
		unsigned class;
	} cases[] = {
		{palette_java, "Ljava/lang/String;::hash", CALLTREE_JIT, PALETTE_GUEST},
		{palette_java, "java/util/HashMap.get", CALLTREE_NATIVE, PALETTE_GUEST},
		{palette_java, "com.acme.Main.run", CALLTREE_NATIVE, PALETTE_GUEST},
		{palette_java, "Interpreter", CALLTREE_JIT, PALETTE_BUILTIN},
		{palette_java, "x_[i]", CALLTREE_NATIVE, PALETTE_BUILTIN},
		{palette_java, "JavaThread::run", CALLTREE_NATIVE, PALETTE_CXX},
		{palette_java, "common_start", CALLTREE_NATIVE, CALLTREE_NATIVE},
		{palette_java, "do_syscall_64_[k]", CALLTREE_NATIVE, PALETTE_KERNEL},
		{palette_java, "java", CALLTREE_PROCESS, CALLTREE_PROCESS},
		{palette_js, "JS:*fib fib.js:1:13", CALLTREE_JIT, PALETTE_GUEST},
		{palette_js, "LazyCompile:~a", CALLTREE_NATIVE, PALETTE_GUEST},
		{palette_js, "run /srv/app.js:10", CALLTREE_NATIVE, PALETTE_GUEST},
		{palette_js, "read_package.json", CALLTREE_NATIVE, CALLTREE_NATIVE},
		{palette_js, "Builtin:ArrayMap", CALLTREE_JIT, PALETTE_BUILTIN},
		{palette_js, "Builtins_JSEntry", CALLTREE_NATIVE, PALETTE_BUILTIN},
		{palette_js, "v8::internal::Heap::Scavenge", CALLTREE_NATIVE, PALETTE_CXX},
		{palette_js, "[node+0x12]", CALLTREE_UNNAMED, CALLTREE_UNNAMED},
		{palette_perl, "Perl_pp_match", CALLTREE_NATIVE, PALETTE_GUEST},
		{palette_perl, "S_regmatch", CALLTREE_NATIVE, PALETTE_GUEST},
		{palette_perl, "/usr/bin/ack.pl", CALLTREE_NATIVE, PALETTE_GUEST},
		{palette_perl, "Foo::bar", CALLTREE_JIT, PALETTE_GUEST},
		{palette_perl, "std::sort", CALLTREE_NATIVE, PALETTE_CXX},
		{palette_perl, "malloc", CALLTREE_NATIVE, CALLTREE_NATIVE},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct calltree_frame frame = {
			.name = cases[i].name, .module = "", .kind = cases[i].kind, .file = ""};

		if ((unsigned)cases[i].classify(&frame) != cases[i].class)
			fail_msg("case %u: %s", i, cases[i].name);
	}
}

static void test_modules_differ(void **state)
{
	struct calltree *tree = calltree_new();
	unsigned hues[18], count = 0;
	struct palette palette;
	char module[16];

	(void)state;
	for (unsigned i = 0; i < 60; i++) {
		snprintf(module, sizeof(module), "lib%u.so", i);
		for (unsigned f = 0; f < 3; f++) {
			uint32_t node = calltree_child(tree, CALLTREE_ROOT,
				calltree_frame(tree,
					f == 2 ? "h"
					: f    ? "g"
					       : "f",
					module, CALLTREE_NATIVE));

			calltree_add(tree, node, 100 - i);
		}
	}
	assert_int_equal(calltree_finish(tree), 0);
	assert_int_equal(palette_init(&palette, "by-module", tree), 0);
	for (unsigned i = 0; i < 18; i++) {
		unsigned hue = palette_index(&palette, i * 3) / 3;

		/*
		 * All functions of a module have the module's hue; the heaviest modules have
		 * different hues.
		 */
		assert_int_equal(palette_index(&palette, i * 3 + 1) / 3, hue);
		for (unsigned before = 0; before < count; before++)
			assert_int_not_equal(hues[before], hue);
		hues[count++] = hue;
	}
	palette_release(&palette);
	calltree_free(tree);
}

/*
 * Compute how a colour looks to people without red cones (@protan) or without green cones, as
 * positions on the axes blue to yellow and dark to light, in linear light, after Viénot, Brettel
 * and Mollon (1999).
 */
static void seen(struct palette_color color, int protan, double *yellow, double *light)
{
	double r = linear(color.red), g = linear(color.green), b = linear(color.blue);
	double both = protan ? 0.112 * r + 0.888 * g : 0.292 * r + 0.708 * g;

	*yellow = cbrt(both) - cbrt(b);
	*light = cbrt(both);
}

/* Compute the mean colour of a kind of frames as seen() computes it. */
static void mean_seen(const char *scheme, enum calltree_frame_kind kind, int protan, double *yellow,
	double *light)
{
	*yellow = *light = 0;
	for (unsigned i = 0; i < 64; i++) {
		struct palette palette;
		char name[16];
		double one_yellow, one_light;

		snprintf(name, sizeof(name), "f%u", i);
		unsigned place = place_of(&palette, scheme, name, "", kind);

		seen(palette_at(&palette, place, 0), protan, &one_yellow, &one_light);
		*yellow += one_yellow / 64;
		*light += one_light / 64;
	}
}

static double apart(const char *scheme, enum calltree_frame_kind a, enum calltree_frame_kind b)
{
	double least = 1;

	for (int protan = 0; protan < 2; protan++) {
		double yellow_a, light_a, yellow_b, light_b;

		mean_seen(scheme, a, protan, &yellow_a, &light_a);
		mean_seen(scheme, b, protan, &yellow_b, &light_b);
		least = fmin(least, hypot(yellow_a - yellow_b, light_a - light_b));
	}
	return least;
}

static void test_okabe_ito_tells_kinds_apart_to_all_eyes(void **state)
{
	static const enum calltree_frame_kind kinds[] = {
		CALLTREE_NATIVE, CALLTREE_JIT, CALLTREE_INLINE, CALLTREE_THREAD};

	(void)state;
	for (unsigned a = 0; a < 4; a++)
		for (unsigned b = 0; b < a; b++) {
			double distance = apart("okabe-ito", kinds[a], kinds[b]);

			if (distance < 0.08)
				fail_msg("kinds %u and %u: %.3f", kinds[a], kinds[b], distance);
		}
	/* Check that this test can fail: in the palette "mem" the two kinds look alike. */
	assert_true(apart("mem", CALLTREE_NATIVE, CALLTREE_JIT) < 0.02);
}

/*
 * Kinds of waits have the same colours in every palette, and people with any colour vision can tell
 * them apart.
 */
static void test_waits_are_told_apart_by_all_eyes(void **state)
{
	struct palette_color first[PALETTE_WAITS][2];

	(void)state;
	for (const char *const *name = palette_names(); *name; name++)
		for (unsigned i = 0; i < PALETTE_WAITS; i++) {
			struct palette palette;
			unsigned place = place_of(
				&palette, *name, "[futex]", palette_waits[i].module, CALLTREE_WAIT);

			assert_int_equal(
				place, palette_first_index(&palette, palette_waits[i].class));
			for (int dark = 0; dark < 2; dark++) {
				struct palette_color color = palette_at(&palette, place, dark);

				if (name == palette_names())
					first[i][dark] = color;
				assert_memory_equal(&first[i][dark], &color, sizeof(color));
			}
		}
	for (unsigned eye = 0; eye < 4; eye++)
		for (unsigned a = 0; a < PALETTE_WAITS; a++)
			for (unsigned b = 0; b < a; b++) {
				double yellow_a, light_a, yellow_b, light_b;

				seen(first[a][eye / 2], eye % 2, &yellow_a, &light_a);
				seen(first[b][eye / 2], eye % 2, &yellow_b, &light_b);
				double distance = hypot(yellow_a - yellow_b, light_a - light_b);

				/*
				 * Dark colours have less light, so their differences are smaller
				 * and the limit is lower.
				 */
				if (distance < (eye < 2 ? 0.07 : 0.05))
					fail_msg("%s and %s, eye %u: %.3f", palette_waits[a].name,
						palette_waits[b].name, eye, distance);
			}
}

static void test_cividis_keeps_its_shades_for_all_eyes(void **state)
{
	struct calltree *tree = calltree_new();
	struct palette palette;

	(void)state;
	assert_int_equal(palette_init(&palette, "cividis", tree), 0);
	for (int protan = 0; protan < 2; protan++) {
		double before = -1, light, yellow;

		/* Ten hues, each with three levels. Each hue is more yellow than the one before. */
		for (unsigned hue = 0; hue < 10; hue++) {
			seen(palette_at(&palette, hue * 3, 0), protan, &yellow, &light);
			assert_true(yellow > before + 0.015);
			before = yellow;
		}
	}
	palette_release(&palette);
	calltree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places_never_change),
		cmocka_unit_test(test_names_are_checked),
		cmocka_unit_test(test_kinds_do_not_share_places),
		cmocka_unit_test(test_every_palette_fits_its_table),
		cmocka_unit_test(test_text_is_readable_on_every_color),
		cmocka_unit_test(test_ranges_have_their_hue),
		cmocka_unit_test(test_languages_are_told_apart),
		cmocka_unit_test(test_modules_differ),
		cmocka_unit_test(test_okabe_ito_tells_kinds_apart_to_all_eyes),
		cmocka_unit_test(test_waits_are_told_apart_by_all_eyes),
		cmocka_unit_test(test_cividis_keeps_its_shades_for_all_eyes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
