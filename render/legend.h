/* SPDX-License-Identifier: MIT */
/*
 * What the colours of a picture mean, of those that are in it: the one list that the static picture
 * and the viewer show. Waits have their own, see palette_waits.
 */
#ifndef RENDER_LEGEND_H
#define RENDER_LEGEND_H

#include "render/calltree.h"
#include "render/palette.h"

/* Of a family of shades so many are shown, from its first hue to its last. */
#define LEGEND_SHADES 3u
#define LEGEND_MAX    24u

struct legend_entry {
	const char *text; /* for people; not to be freed */
	unsigned places[LEGEND_SHADES];
};

/*
 * What the colours of @tree's frames mean in @palette (of that tree; both borrowed for the call),
 * functions first. Returns how many @entries were written.
 */
unsigned legend_of(const struct palette *palette, const struct calltree *tree,
	struct legend_entry entries[LEGEND_MAX]);

#endif
