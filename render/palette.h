/* SPDX-License-Identifier: MIT */
/*
 * Colours: a few shades per class of frame, so that fills can be batched, and the shade chosen by
 * the name, so that a function looks the same in every picture. The viewer is handed this table and
 * each frame's place in it; it computes no colour of its own. The palettes' names are given by
 * palette_names() of render/picture.h.
 */
#ifndef RENDER_PALETTE_H
#define RENDER_PALETTE_H

#include <stdint.h>

#include "render/calltree.h"

#define PALETTE_MAX 96u

struct palette_color {
	uint8_t red, green, blue;
};

struct palette_scheme;

/* A palette for the frames of one tree. */
struct palette {
	const struct palette_scheme *scheme;
	uint8_t *places; /* [frame]; owned */
};

/*
 * Choose the palette called @name (NULL: the default one) for @tree (finished, borrowed for the
 * call) into the caller's @palette. Returns 0, -EINVAL when there is none of that name, or -ENOMEM,
 * with nothing to release.
 */
int palette_init(struct palette *palette, const char *name, const struct calltree *tree);
void palette_release(struct palette *palette);

const char *palette_name(const struct palette *palette);

/* Colours in the table, at most PALETTE_MAX. */
unsigned palette_size(const struct palette *palette);

/*
 * Place in the table of @frame's colour. Depends on the frame alone, but for "by-module": there the
 * heaviest modules of the tree choose first.
 */
unsigned palette_place(const struct palette *palette, uint32_t frame);

/* Places of the two colours no frame has: the root's box, and merged or cut-off boxes. */
unsigned palette_root(const struct palette *palette);
unsigned palette_merged(const struct palette *palette);

/* Colour at @place for text on a light (@dark 0) or a dark background. */
struct palette_color palette_at(const struct palette *palette, unsigned place, int dark);

#endif
