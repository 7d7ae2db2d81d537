/* SPDX-License-Identifier: MIT */
/*
 * The classes of frames with their names for display. The hue of a function comes from a hash of
 * its name and has no meaning, so the first entry says "whatever the hue".
 */
#include "render/legend.h"

#include <stdbool.h>
#include <string.h>

/* The legend shows the classes in this order. */
static const struct {
	enum palette_class class;
	const char *text;
} classes[] = {
	{(enum palette_class)CALLTREE_NATIVE, "function, whatever the hue"},
	{PALETTE_MODULE, "function, a hue for each module"},
	{PALETTE_GUEST, "function of the language, whatever the hue"},
	{PALETTE_BUILTIN, "its engine's"},
	{PALETTE_CXX, "C++"},
	{(enum palette_class)CALLTREE_INLINE, "inlined, dashed"},
	{(enum palette_class)CALLTREE_JIT, "compiled at run time"},
	{(enum palette_class)CALLTREE_UNNAMED, "no symbol"},
	{(enum palette_class)CALLTREE_KERNEL, "kernel"},
	{PALETTE_KERNEL, "kernel"},
	{(enum palette_class)CALLTREE_SYNTHETIC, "not sampled, or cut off"},
	{(enum palette_class)CALLTREE_PROCESS, "process"},
	{(enum palette_class)CALLTREE_THREAD, "thread"},
	{(enum palette_class)CALLTREE_IDLE, "idle threads"},
	{PALETTE_SLOWER, "slower"},
	{PALETTE_SLOWER_BY_OTHERS, "slower by others"},
	{PALETTE_NEW, "new"},
	{PALETTE_FASTER, "faster"},
	{PALETTE_FASTER_BY_OTHERS, "faster by others"},
	{PALETTE_GONE, "gone"},
	{PALETTE_INSIGNIFICANT, "no change that is more than chance"},
};

_Static_assert(sizeof(classes) / sizeof(*classes) <= LEGEND_MAX, "there is room for each");

/*
 * Returns the text for @class, @text by default. Other native functions have another text if a
 * language or modules have colours of their own.
 */
static const char *text_of(
	const struct palette *palette, enum palette_class class, const char *text)
{
	const struct palette_family *families = palette->scheme->families;

	if (class != (enum palette_class)CALLTREE_NATIVE)
		return text;
	return families[PALETTE_GUEST].levels	 ? "other function"
	       : families[PALETTE_MODULE].levels ? "function of no module"
						 : text;
}

/* Are all shades of two classes equal? */
static bool is_same(const struct palette *palette, enum palette_class a, enum palette_class b)
{
	const struct palette_family *families = palette->scheme->families;
	unsigned first = palette_first_index(palette, a), other = palette_first_index(palette, b);
	unsigned shades = families[a].hues * families[a].levels;

	if (families[b].hues * families[b].levels != shades)
		return false;
	for (unsigned i = 0; i < shades; i++)
		for (int dark = 0; dark < 2; dark++) {
			struct palette_color one = palette_at(palette, first + i, dark);
			struct palette_color two = palette_at(palette, other + i, dark);

			if (memcmp(&one, &two, sizeof(one)) != 0)
				return false;
		}
	return true;
}

unsigned legend_of(const struct palette *palette, const struct calltree *tree,
	struct legend_entry entries[LEGEND_MAX])
{
	bool is_there[PALETTE_CLASSES] = {false};
	unsigned count = 0;

	for (uint32_t i = 0; i < calltree_frames(tree); i++)
		is_there[palette_class_of(palette, calltree_frame_at(tree, i))] = true;
	if (is_there[CALLTREE_NATIVE] && is_same(palette, (enum palette_class)CALLTREE_NATIVE,
						 (enum palette_class)CALLTREE_JIT))
		is_there[CALLTREE_JIT] = false;
	for (unsigned i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		enum palette_class class = classes[i].class;
		const struct palette_family *family = &palette->scheme->families[class];
		struct legend_entry *entry = &entries[count];

		if (!is_there[class])
			continue;
		entry->text = text_of(palette, class, classes[i].text);
		for (unsigned shade = 0; shade < LEGEND_SHADES; shade++)
			entry->indices[shade] =
				palette_first_index(palette, class) +
				(family->hues - 1) * shade / (LEGEND_SHADES - 1) * family->levels +
				family->levels / 2;
		count++;
	}
	return count;
}
