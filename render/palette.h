/* SPDX-License-Identifier: MIT */
/*
 * Colours: a few shades per kind of frame, so that fills can be batched, and the shade chosen by
 * the name, so that a function looks the same in every picture. The viewer is handed this table and
 * each frame's place in it; it computes no colour of its own.
 */
#ifndef RENDER_PALETTE_H
#define RENDER_PALETTE_H

#include <stdint.h>

#include "render/calltree.h"

#define PALETTE_MAX 96u

struct palette_color {
	uint8_t red, green, blue;
};

/* Colours in the table, at most PALETTE_MAX. */
unsigned palette_size(void);

/* Place in the table of a frame's colour, below palette_size(). Depends on name and kind only. */
unsigned palette_place(const char *name, enum calltree_frame_kind kind);

/* Places of the two colours no frame has: the root's box, and merged or cut-off boxes. */
unsigned palette_root(void);
unsigned palette_merged(void);

/* Colour at @place for text on a light (@dark 0) or a dark background. */
struct palette_color palette_at(unsigned place, int dark);

#endif
