/* SPDX-License-Identifier: MIT */
/* Write a call tree as SVG, PNG or PDF. All formats share layout, colours and drawing code. */
#ifndef RENDER_PICTURE_H
#define RENDER_PICTURE_H

#include <stdint.h>
#include <stdio.h>

#include "render/calltree.h"

/* Do stacks grow up (flame) or down (icicle)? */
enum picture_direction {
	PICTURE_FLAME = 0,
	PICTURE_ICICLE = 1
};

/* Background of the static picture. The viewer follows the browser's preference. */
enum picture_ground {
	PICTURE_LIGHT = 0,
	PICTURE_DARK = 1
};

/* Bounds of sizes in CSS pixels. A value outside of them is replaced by the bound. */
#define PICTURE_WIDTH_MIN  240
#define PICTURE_WIDTH_MAX  16000
#define PICTURE_ROW_MIN	   6
#define PICTURE_ROW_MAX	   64
#define PICTURE_FONT_MIN   4
#define PICTURE_FONT_MAX   40
#define PICTURE_NARROW_MIN 0.1
#define PICTURE_NARROW_MAX 100

/* A mark that the profiled program set through the library's API. */
struct picture_mark {
	uint64_t time_ns; /* since the first sample */
	uint32_t tid;
	const char *text; /* any bytes but NUL */
};

/* The result of comparing a function's time in two versions of a program. */
enum picture_verdict {
	/* no statistically significant change */
	PICTURE_INSIGNIFICANT = 0,
	PICTURE_SLOWER,
	/* slower only because a callee or caller changed */
	PICTURE_SLOWER_BY_OTHERS,
	PICTURE_FASTER,
	PICTURE_FASTER_BY_OTHERS,
	PICTURE_NEW,
	PICTURE_GONE,
	PICTURE_VERDICTS
};

struct spread;
struct ranks;

struct picture_verdicts {
	enum picture_verdict (*judge)(const struct calltree_frame *frame, void *context);
	/* Returns the reason for the verdict (any bytes, may be ""), valid until the next call. */
	const char *(*explain)(const struct calltree_frame *frame, void *context);
	void *context;
	/*
	 * The weights of the old and the new version were multiplied by scale[0] and scale[1], to
	 * be comparable.
	 */
	unsigned scale[2];
};

/* Options of a picture. All strings are borrowed. Zero-initialise for the default picture. */
/* A tree whose weights are values called @name, counted in @unit. */
struct picture_values {
	const struct calltree *tree;
	const char *name, *unit;
};

struct picture_options {
	const char *title;    /* NULL: "Flame graph" */
	const char *subtitle; /* NULL or "": none */
	/* the filters that were applied to the profile, in words; NULL or "": none */
	const char *filters;
	/* text below the boxes; lines end in newlines; NULL or "": none */
	const char *notes;
	/* text shown instead of boxes if the tree has no weight; NULL: a default */
	const char *empty;
	/* name of a unit of weight; NULL: "samples" */
	const char *count_name;
	/* one of palette_names(); NULL: the default */
	const char *palette;
	const char *font; /* font family; NULL: the default */
	/*
	 * size of labels, at most 0.8 of frame_height; other texts scale with it. 0: 11, or less if
	 * rows are low
	 */
	double font_size;
	/* height of one row; 0: 18, or as high as font_size needs */
	double frame_height;
	double min_width; /* boxes narrower than this are merged; 0: 0.5 */
	uint32_t width;	  /* width of the static picture; 0: 1200 */
	enum picture_direction direction;
	enum picture_ground ground;
	/* set to append "_[i]" to the names of inlined functions in folded stacks */
	int inline_suffix;
	/* set if labels show template arguments and parameters where they fit */
	int whole_names;
	/* set if the tree was merged from the leaf; the picture then says so */
	int is_reversed;
	/* set if the tree has root frames for processes, for threads */
	int by_process, by_thread;
	/* time of one unit of weight; 0: unknown (weights are counts) */
	uint64_t period_ns;
	/*
	 * what the weights measure, such as "cpu" or "inuse_space"; NULL: "cpu", or "time" if
	 * @period_ns is 1, or unknown if weights are counts
	 */
	const char *type_name;
	/*
	 * Fine tree (one frame per source line) of the same stacks, not reversed, for profiles;
	 * NULL: profiles are written from the drawn tree.
	 */
	const struct calltree *fine;
	/*
	 * @times says which stacks the drawn tree has. @everything is a tree of all stacks for the
	 * viewer; NULL if the drawn tree has all.
	 */
	enum calltree_times times;
	const struct calltree *everything;
	/*
	 * A tree of stacks that were sampled by another kind of time, with the same period; NULL:
	 * none. A profile holds this tree beside the drawn tree; a picture shows only the drawn
	 * tree.
	 */
	const struct calltree *other;
	const char *other_name; /* which kind of time @other has */
	/*
	 * Trees of the same stacks with other values, such as objects beside bytes. Only a pprof
	 * profile holds them.
	 */
	const struct picture_values *kept;
	unsigned kept_count;
	/* weight that should have been sampled but is in no stack; valid if knows_lost */
	uint64_t lost;
	int knows_lost;
	/* the result of a comparison, by which frames are coloured; NULL: colour by @palette */
	const struct picture_verdicts *verdicts;
	/* variation between the runs that the tree sums up; NULL: unknown */
	const struct spread *spread;
	/* the ranks of the profiled parallel job, for tables; NULL: not a job */
	const struct ranks *ranks;
	uint64_t duration_ns;		  /* duration of the profiled run; 0: unknown */
	const struct picture_mark *marks; /* sorted by time; borrowed */
	uint32_t mark_count;
	/* seconds since the epoch, for a PDF's metadata; 0: not written */
	int64_t created_s;
};

/* Returns the names of all palettes, the default first and NULL last. */
const char *const *palette_names(void);

/*
 * Write @tree (finished) as SVG, PNG or PDF to @out, which is borrowed and neither closed nor
 * flushed. Equal trees and options give equal bytes. Returns 0, or -EINVAL if the palette does not
 * exist, -ENOMEM, -EIO for a write error that cairo reports, or -errno of @out.
 */
int picture_write_svg(
	const struct calltree *tree, const struct picture_options *options, FILE *out);
int picture_write_png(
	const struct calltree *tree, const struct picture_options *options, FILE *out);
int picture_write_pdf(
	const struct calltree *tree, const struct picture_options *options, FILE *out);

#endif
