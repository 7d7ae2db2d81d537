/* SPDX-License-Identifier: MIT */
/*
 * Colours of frames. Frames are divided into classes, and a palette has a family of shades for each
 * class. A hash of the name selects the shade, so that a function has the same colour in every
 * picture. There are few shades, so that all boxes of one colour can be drawn together. The viewer
 * gets this table and the index of each frame's colour; it computes none.
 */
#ifndef RENDER_PALETTE_H
#define RENDER_PALETTE_H

#include <stdint.h>

#include "render/calltree.h"

#define PALETTE_MAX 104u

struct palette_color {
	uint8_t red, green, blue;
};

/* Classes. The first values are those of enum calltree_frame_kind. */
enum palette_class {
	PALETTE_ROOT = CALLTREE_KINDS,
	PALETTE_MERGED,
	/* functions of the palette's language */
	PALETTE_GUEST,
	/* code of its engine: inlined code, built-in functions, stubs */
	PALETTE_BUILTIN,
	PALETTE_CXX,
	PALETTE_KERNEL,
	PALETTE_MODULE, /* one hue per module */
	/* Waits by kind; CALLTREE_WAIT is the class of waits of unknown kind. */
	PALETTE_LOCK,
	PALETTE_SLEEP,
	PALETTE_IO,
	PALETTE_CHILD,
	PALETTE_DISK,
	PALETTE_READY,
	/* enum picture_verdict in its order, for comparisons */
	PALETTE_INSIGNIFICANT,
	PALETTE_SLOWER,
	PALETTE_SLOWER_BY_OTHERS,
	PALETTE_FASTER,
	PALETTE_FASTER_BY_OTHERS,
	PALETTE_NEW,
	PALETTE_GONE,
	PALETTE_CLASSES
};

/*
 * A family has @hues * @levels shades, all levels of a hue first. Numbers are OKLCH. A negative
 * chroma is the opposite hue, so that a family can pass through grey.
 */
struct palette_family {
	unsigned hues, levels; /* 0: the palette has no such class */
	struct palette_range {
		double from, to;
	} hue,		/* degrees */
		chroma, /* from the first hue to the last */
		/* lightness on a light background, from the first level to the last */
		light,
		dark;	/* lightness on a dark background */
	/* added to the last hue's lightness, less to earlier ones: dark yellow looks like mud */
	double lift;
};

struct palette_scheme {
	const char *name;
	enum palette_class (*classify)(const struct calltree_frame *frame);
	struct palette_family families[PALETTE_CLASSES];
};

/* Classify a frame for users of a language: its functions, its engine, C++, kernel. */
enum palette_class palette_java(const struct calltree_frame *frame);
enum palette_class palette_js(const struct calltree_frame *frame);
enum palette_class palette_perl(const struct calltree_frame *frame);

struct picture_verdicts;

/* A palette with the colours of one tree's frames. */
struct palette {
	const struct palette_scheme *scheme;
	const struct picture_verdicts *verdicts; /* borrowed; NULL: colours by scheme */
	uint8_t *indices; /* [frame] -> index of its colour; owned */
};

/*
 * Fill the caller's @palette with the palette @name (NULL: the default) for @tree (finished,
 * borrowed for the call). Returns 0, -EINVAL if there is no such palette, or -ENOMEM, with nothing
 * to release.
 */
int palette_init(struct palette *palette, const char *name, const struct calltree *tree);

/*
 * Fill @palette for a comparison of versions: colours follow @verdicts (borrowed as long as the
 * palette). @name only selects whether the colours suit readers without red or green cones.
 * Parameters and results are otherwise those of palette_init().
 */
int palette_init_verdicts(struct palette *palette, const char *name, const struct calltree *tree,
	const struct picture_verdicts *verdicts);
void palette_release(struct palette *palette);

const char *palette_name(const struct palette *palette);

/* Returns the number of colours in the table, at most PALETTE_MAX. */
unsigned palette_size(const struct palette *palette);

/*
 * Returns the index of @frame's colour in the table. It depends on the frame alone, except in
 * "by-module", where the heaviest modules of the tree get their preferred hue first.
 */
unsigned palette_index(const struct palette *palette, uint32_t frame);

/* A kind of wait. All waits of one kind have one colour. */
struct palette_wait {
	const char *module;
	const char *name; /* for people */
	enum palette_class class;
};

#define PALETTE_WAITS 7u
extern const struct palette_wait palette_waits[PALETTE_WAITS];

/* Returns the index in palette_waits of a CALLTREE_WAIT frame; the last if its kind is unknown. */
unsigned palette_wait_kind(const struct calltree_frame *frame);

/* Returns the class of @frame, and the index of the first colour of a class. */
enum palette_class palette_class_of(
	const struct palette *palette, const struct calltree_frame *frame);
unsigned palette_first_index(const struct palette *palette, enum palette_class class);

/* Return the index of the colour of the root's box, and of boxes that were merged or cut off. */
unsigned palette_root(const struct palette *palette);
unsigned palette_merged(const struct palette *palette);

/* Returns colour number @index for a light (@dark 0) or a dark background. */
struct palette_color palette_at(const struct palette *palette, unsigned index, int dark);

#endif
