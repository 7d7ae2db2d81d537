/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* The legend explains each colour that is in the picture, and no other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "render/legend.h"
#include "render/picture.h"

struct explained {
	struct calltree *tree;
	struct palette palette;
	struct legend_entry entries[LEGEND_MAX];
	unsigned count;
};

/* Make a legend for frames of the kinds @kinds (ended by -1) in the palette @palette. */
static void explain(struct explained *explained, const char *palette, const int *kinds)
{
	explained->tree = calltree_new();
	for (unsigned i = 0; kinds[i] >= 0; i++) {
		char name[] = {'n', (char)('a' + i), '\0'};

		calltree_add(explained->tree,
			calltree_child(explained->tree, CALLTREE_ROOT,
				calltree_frame(explained->tree, name, "libx.so",
					(enum calltree_frame_kind)kinds[i])),
			1);
	}
	assert_int_equal(calltree_finish(explained->tree), 0);
	assert_int_equal(palette_init(&explained->palette, palette, explained->tree), 0);
	explained->count = legend_of(&explained->palette, explained->tree, explained->entries);
}

static void release(struct explained *explained)
{
	palette_release(&explained->palette);
	calltree_free(explained->tree);
}

static const struct legend_entry *find(const struct explained *explained, const char *start)
{
	for (unsigned i = 0; i < explained->count; i++)
		if (!strncmp(explained->entries[i].text, start, strlen(start)))
			return &explained->entries[i];
	return NULL;
}

static void test_only_what_is_there_is_listed(void **state)
{
	struct explained explained;

	(void)state;
	explain(&explained, "hot", (const int[]){CALLTREE_NATIVE, CALLTREE_UNNAMED, -1});
	assert_int_equal(explained.count, 2);
	assert_string_equal(explained.entries[0].text, "function, whatever the hue");
	assert_string_equal(explained.entries[1].text, "no symbol");
	release(&explained);
	explain(&explained, "hot", (const int[]){CALLTREE_WAIT, -1});
	assert_int_equal(explained.count, 0);
	release(&explained);
}

/*
 * Each class of frames is listed once, with its first and last hue. JIT code is listed only if it
 * has its own colours.
 */
static void test_shades_are_those_of_the_class(void **state)
{
	static const int kinds[] = {CALLTREE_NATIVE, CALLTREE_JIT, CALLTREE_UNNAMED,
		CALLTREE_SYNTHETIC, CALLTREE_PROCESS, CALLTREE_THREAD, CALLTREE_INLINE,
		CALLTREE_KERNEL, CALLTREE_IDLE, -1};

	(void)state;
	for (const char *const *name = palette_names(); *name; name++) {
		struct explained explained;

		explain(&explained, *name, kinds);
		for (unsigned i = 0; kinds[i] >= 0; i++) {
			enum palette_class class = palette_class_of(
				&explained.palette, calltree_frame_at(explained.tree, i));
			unsigned first = palette_first_index(&explained.palette, class);
			const struct palette_family *family =
				&explained.palette.scheme->families[class];
			unsigned listed = 0;

			for (unsigned j = 0; j < explained.count; j++) {
				const unsigned *indices = explained.entries[j].indices;

				if (indices[0] < first ||
					indices[0] >= first + family->hues * family->levels)
					continue;
				listed++;
				assert_in_range(indices[0], first, first + family->levels - 1);
				assert_in_range(indices[LEGEND_SHADES - 1],
					first + (family->hues - 1) * family->levels,
					first + family->hues * family->levels - 1);
			}
			if (class == (enum palette_class)CALLTREE_JIT && !listed)
				assert_memory_equal(family,
					&explained.palette.scheme->families[CALLTREE_NATIVE],
					sizeof(*family));
			else
				assert_int_equal(listed, 1);
		}
		release(&explained);
	}
}

static void test_functions_are_what_the_palette_makes_of_them(void **state)
{
	static const int native[] = {CALLTREE_NATIVE, CALLTREE_JIT, -1};
	struct explained explained;

	(void)state;
	explain(&explained, "by-module", native);
	assert_non_null(find(&explained, "function, a hue for each module"));
	assert_int_equal(explained.count, 1);
	release(&explained);
	explain(&explained, "js", native);
	assert_non_null(find(&explained, "function of the language"));
	assert_non_null(find(&explained, "other function"));
	release(&explained);
	explain(&explained, "red", native);
	assert_int_equal(explained.count, 1);
	release(&explained);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_what_is_there_is_listed),
		cmocka_unit_test(test_shades_are_those_of_the_class),
		cmocka_unit_test(test_functions_are_what_the_palette_makes_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
