/* SPDX-License-Identifier: MIT */
/*
 * What a palette is made of: classes of frames, and for each class a family of shades.
 */
#ifndef RENDER_PALETTE_SCHEME_H
#define RENDER_PALETTE_SCHEME_H

#include "render/calltree.h"

/* The first are enum calltree_frame_kind. */
enum palette_class {
	PALETTE_ROOT = CALLTREE_KINDS,
	PALETTE_MERGED,
	PALETTE_GUEST,	 /* functions of the language a palette is for */
	PALETTE_BUILTIN, /* what its engine made: inlined code, built-in functions, stubs */
	PALETTE_CXX,
	PALETTE_KERNEL,
	PALETTE_MODULE, /* one hue per module */
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
	} hue,	/* degrees */
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

/* The default is the first; one with a NULL name ends them. */
extern const struct palette_scheme palette_schemes[];

/* Classes of frames by what users of each language know; see render/palette_rules.c. */
enum palette_class palette_by_kind(const struct calltree_frame *frame);
enum palette_class palette_by_module(const struct calltree_frame *frame);
enum palette_class palette_java(const struct calltree_frame *frame);
enum palette_class palette_js(const struct calltree_frame *frame);
enum palette_class palette_perl(const struct calltree_frame *frame);

#endif
