/* SPDX-License-Identifier: MIT */
/*
 * Colours: a few shades per class of frame, so that fills can be batched, and the shade chosen by
 * the name, so that a function looks the same in every picture. The viewer is handed this table and
 * each frame's place in it; it computes no colour of its own. The palettes' names are given by
 * palette_names() of render/picture.h.
 *
 * A palette is made of classes of frames, and for each class a family of shades.
 */
#ifndef RENDER_PALETTE_H
#define RENDER_PALETTE_H

#include <stdint.h>

#include "render/calltree.h"

#define PALETTE_MAX 104u

struct palette_color {
	uint8_t red, green, blue;
};

/* The first are enum calltree_frame_kind. */
enum palette_class {
	PALETTE_ROOT = CALLTREE_KINDS,
	PALETTE_MERGED,
	PALETTE_GUEST,	 /* functions of the language a palette is for */
	PALETTE_BUILTIN, /* what its engine made: inlined code, built-in functions, stubs */
	PALETTE_CXX,
	PALETTE_KERNEL,
	PALETTE_MODULE, /* one hue per module */
	/* Waits, by kind; CALLTREE_WAIT is what nobody knows. */
	PALETTE_LOCK,
	PALETTE_SLEEP,
	PALETTE_IO,
	PALETTE_CHILD,
	PALETTE_DISK,
	PALETTE_READY,
	PALETTE_UNTOLD, /* where versions are compared: enum picture_verdict, in its order */
	PALETTE_SLOWER,
	PALETTE_SLOWER_BY_OTHERS,
	PALETTE_FASTER,
	PALETTE_FASTER_BY_OTHERS,
	PALETTE_NEW,
	PALETTE_GONE,
	PALETTE_CLASSES
};

/*
 * Shades run through @hues hues and @levels lightnesses, levels fastest. OKLCH; a negative chroma
 * is the opposite hue, so that a family can pass through grey.
 */
struct palette_family {
	unsigned hues, levels; /* 0: the class is not in the palette */
	struct palette_range {
		double from, to;
	} hue,		/* degrees */
		chroma, /* over the hues */
		light,	/* lightness on a light background, over the levels */
		dark;	/* and on a dark one */
	double lift; /* added up to the last hue on light: yellows as dark as reds look like mud */
};

struct palette_scheme {
	const char *name;
	enum palette_class (*classify)(const struct calltree_frame *frame);
	struct palette_family families[PALETTE_CLASSES];
};

/* Classes of frames by what users of each language know. */
enum palette_class palette_java(const struct calltree_frame *frame);
enum palette_class palette_js(const struct calltree_frame *frame);
enum palette_class palette_perl(const struct calltree_frame *frame);

struct picture_verdicts;

/* A palette for the frames of one tree. */
struct palette {
	const struct palette_scheme *scheme;
	const struct picture_verdicts *verdicts; /* borrowed; NULL: frames have their own colours */
	uint8_t *places; /* [frame]; owned */
};

/*
 * Choose the palette called @name (NULL: the default one) for @tree (finished, borrowed for the
 * call) into the caller's @palette. Returns 0, -EINVAL when there is none of that name, or -ENOMEM,
 * with nothing to release.
 */
int palette_init(struct palette *palette, const char *name, const struct calltree *tree);

/*
 * Likewise for a comparison of versions, by @verdicts (borrowed as long as the palette). Of the
 * palettes those for eyes without red or green cones have such colours, too.
 */
int palette_init_verdicts(struct palette *palette, const char *name, const struct calltree *tree,
	const struct picture_verdicts *verdicts);
void palette_release(struct palette *palette);

const char *palette_name(const struct palette *palette);

/* Colours in the table, at most PALETTE_MAX. */
unsigned palette_size(const struct palette *palette);

/*
 * Place in the table of @frame's colour. Depends on the frame alone, but for "by-module": there the
 * heaviest modules of the tree choose first.
 */
unsigned palette_place(const struct palette *palette, uint32_t frame);

/* Kinds of waits, as frames of CALLTREE_WAIT have them in their module. */
struct palette_wait {
	const char *module;
	const char *name; /* for people */
	enum palette_class class;
};

/* All waits of one kind have one colour. */
#define PALETTE_WAITS 7u
extern const struct palette_wait palette_waits[PALETTE_WAITS];

/* Which of them a frame of CALLTREE_WAIT is; the last, not known, for one that nobody told of. */
unsigned palette_wait_kind(const struct calltree_frame *frame);

/* The class whose colours @frame has, and the first of the places of a class. */
enum palette_class palette_class_of(
	const struct palette *palette, const struct calltree_frame *frame);
unsigned palette_first_place(const struct palette *palette, enum palette_class class);

/* Places of the two colours no frame has: the root's box, and merged or cut-off boxes. */
unsigned palette_root(const struct palette *palette);
unsigned palette_merged(const struct palette *palette);

/* Colour at @place for text on a light (@dark 0) or a dark background. */
struct palette_color palette_at(const struct palette *palette, unsigned place, int dark);

#endif
