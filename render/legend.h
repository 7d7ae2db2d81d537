/* SPDX-License-Identifier: MIT */
/*
 * The legend: the meaning of the colours of the classes of frames that a tree has. The static
 * picture and the viewer show the same list. Waits have a legend of their own, see palette_waits.
 */
#ifndef RENDER_LEGEND_H
#define RENDER_LEGEND_H

#include "render/calltree.h"
#include "render/palette.h"

/* number of shades shown per class, from its first hue to its last */
#define LEGEND_SHADES 3u
#define LEGEND_MAX    24u

struct legend_entry {
	const char *text; /* for display; a constant */
	unsigned indices[LEGEND_SHADES];
};

/*
 * List the meaning of the colours of @tree's frames, functions first. @palette was made for @tree;
 * both are borrowed for the call. Returns the number of @entries written.
 */
unsigned legend_of(const struct palette *palette, const struct calltree *tree,
	struct legend_entry entries[LEGEND_MAX]);

#endif
