/* SPDX-License-Identifier: MIT */
/*
 * Colours of frames. Frames are divided into classes, and a palette has a family of shades for each
 * class. A hash of the name selects the shade, so that a function has the same colour in every
 * picture. There are few shades, so that all boxes of one colour can be drawn together. The viewer
 * gets the table of colours and the index of each frame's colour; it computes no colours.
 */
#ifndef RENDER_PALETTE_H
#define RENDER_PALETTE_H

#include <stdint.h>

#include "render/calltree.h"

#define PALETTE_MAX 104u

struct palette_color {
	uint8_t red, green, blue;
};

/* Classes of frames. The first values are those of enum calltree_frame_kind. */
enum palette_class {
	PALETTE_ROOT = CALLTREE_KINDS,
	PALETTE_MERGED,
	/* functions of the language, in a palette for one language */
	PALETTE_GUEST,
	/* code of the language's engine: inlined code, built-in functions, stubs */
	PALETTE_BUILTIN,
	PALETTE_CXX,
	PALETTE_KERNEL,
	PALETTE_MODULE, /* functions of all modules, in palettes with one hue per module */
	/* Kinds of waits. Waits of unknown kind have the class CALLTREE_WAIT. */
	PALETTE_LOCK,
	PALETTE_SLEEP,
	PALETTE_IO,
	PALETTE_CHILD,
	PALETTE_DISK,
	PALETTE_READY,
	/* The values of enum picture_verdict in the same order, for comparisons. */
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
 * A family of @hues * @levels shades. In the table of colours, the levels of the first hue come
 * first, then those of the second hue, and so on. Numbers are OKLCH. A negative chroma means the
 * opposite hue, so that a family can pass through grey.
 */
struct palette_family {
	unsigned hues, levels; /* number of hues and levels; 0 if the palette has no such class */
	struct palette_range {
		double from, to;
	} hue,		/* degrees */
		chroma, /* chroma of the first and the last hue */
		/* lightness of the first and the last level, on a light background */
		light,
		dark;	/* lightness of the first and the last level, on a dark background */
	/* lightness added to the last hue (0 to the first), because dark yellow looks like mud */
	double lift;
};

struct palette_scheme {
	const char *name;
	enum palette_class (*classify)(const struct calltree_frame *frame);
	struct palette_family families[PALETTE_CLASSES];
};

/* Returns the class of @frame in a palette of one language: language, engine, C++ or other code. */
enum palette_class palette_java(const struct calltree_frame *frame);
enum palette_class palette_js(const struct calltree_frame *frame);
enum palette_class palette_perl(const struct calltree_frame *frame);

struct picture_verdicts;

/* A palette, applied to the frames of one tree. */
struct palette {
	const struct palette_scheme *scheme;
	/* borrowed; NULL: frames have the colours of @scheme */
	const struct picture_verdicts *verdicts;
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
 * palette). @name "okabe-ito" or "cividis" selects colours for readers without red or green cones.
 * Parameters and results are otherwise those of palette_init().
 */
int palette_init_verdicts(struct palette *palette, const char *name, const struct calltree *tree,
	const struct picture_verdicts *verdicts);
void palette_release(struct palette *palette);

const char *palette_name(const struct palette *palette);

/* Returns the number of colours in the table, at most PALETTE_MAX. */
unsigned palette_size(const struct palette *palette);

/*
 * Returns the index of @frame's colour in the table. The colour depends on the frame alone, except
 * in the palette "by-module", in which the heaviest modules of the tree choose their hues first.
 */
unsigned palette_index(const struct palette *palette, uint32_t frame);

/* A kind of wait, and the class that gives all waits of this kind one colour. */
struct palette_wait {
	const char *module;
	const char *name; /* for display */
	enum palette_class class;
};

#define PALETTE_WAITS 7u
extern const struct palette_wait palette_waits[PALETTE_WAITS];

/* Returns the index in palette_waits of a CALLTREE_WAIT frame; the last if its kind is unknown. */
unsigned palette_wait_kind(const struct calltree_frame *frame);

/*
 * palette_class_of() returns the class of @frame; palette_first_index() returns the index of the
 * first colour of @class.
 */
enum palette_class palette_class_of(
	const struct palette *palette, const struct calltree_frame *frame);
unsigned palette_first_index(const struct palette *palette, enum palette_class class);

/*
 * palette_root() returns the colour index of the root's box, palette_merged() that of boxes that
 * were merged or cut off.
 */
unsigned palette_root(const struct palette *palette);
unsigned palette_merged(const struct palette *palette);

/* Returns colour number @index for a light background (@dark is 0) or a dark one (1). */
struct palette_color palette_at(const struct palette *palette, unsigned index, int dark);

#endif
