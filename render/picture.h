/* SPDX-License-Identifier: MIT */
/*
 * From a call tree to a picture. The same layout, colours and drawing code for every format.
 */
#ifndef RENDER_PICTURE_H
#define RENDER_PICTURE_H

#include <stdint.h>
#include <stdio.h>

#include "render/calltree.h"

/* Which way the boxes grow. */
enum picture_direction {
	PICTURE_FLAME = 0,
	PICTURE_ICICLE = 1
};

/* What the static picture stands on. The viewer follows the browser's preference. */
enum picture_ground {
	PICTURE_LIGHT = 0,
	PICTURE_DARK = 1
};

/* Sizes in CSS pixels; what is asked for beyond these bounds is drawn at the bound. */
#define PICTURE_WIDTH_MIN  240
#define PICTURE_WIDTH_MAX  16000
#define PICTURE_ROW_MIN	   6
#define PICTURE_ROW_MAX	   64
#define PICTURE_FONT_MIN   4
#define PICTURE_FONT_MAX   40
#define PICTURE_NARROW_MIN 0.1
#define PICTURE_NARROW_MAX 100

/* Something the program wanted to be remembered. */
struct picture_mark {
	uint64_t time_ns; /* since the first sample */
	uint32_t tid;
	const char *text; /* any bytes but NUL */
};

/* What is known of a function in a picture of two versions of a program, from old to new. */
enum picture_verdict {
	PICTURE_UNTOLD = 0, /* no change that could be told apart from chance */
	PICTURE_SLOWER,
	PICTURE_SLOWER_BY_OTHERS, /* a function that it calls, or that calls it, is what changed */
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
	/* In words, any bytes, "" for nothing to say; valid until the next call. */
	const char *(*explain)(const struct calltree_frame *frame, void *context);
	void *context;
	/* What weights of the old and the new version were multiplied with, to weigh alike. */
	unsigned scale[2];
};

/* All zero, but for what NULL means, is the default picture. */
struct picture_options {
	const char *title;    /* NULL: "Flame graph" */
	const char *subtitle; /* NULL or "": none */
	const char *filters;  /* what profiles say was left out; NULL or "": nothing */
	const char *notes; /* NULL or "": none; below the boxes, several lines if it has newlines */
	const char
		*empty; /* text shown instead of boxes when the tree has no weight; NULL: default */
	const char *count_name; /* what one unit of weight is called; NULL: "samples" */
	const char *palette;	/* name as in palette_names(); NULL: the default one */
	const char *font;	/* family; NULL: the default */
	double font_size;	/* of labels; the other texts follow. 0: 11, less in low rows. At
				   most 0.8 of frame_height */
	double frame_height;	/* of one row; 0: 18, or what font_size needs */
	double min_width;	/* of a box drawn by itself; narrower ones merge. 0: 0.5 */
	uint32_t width;		/* CSS pixels of the static picture; 0: 1200 */
	enum picture_direction direction;
	enum picture_ground ground;
	int inline_suffix;    /* in folded stacks names of inlined functions end in "_[i]" */
	int whole_names;      /* labels have template arguments and parameters if there is room */
	int is_reversed;      /* the tree was merged from the leaf: said in the picture */
	int by_process, by_thread; /* it has root frames of these, as transform_shape makes them */
	uint64_t period_ns;   /* time one unit of weight stands for; 0: unknown (weights are
				 counts) */
	const char *time_name; /* which time that is; NULL: "cpu", of single nanoseconds "time" */
	/*
	 * The same stacks as they were measured, for profiles: functions by line, not turned round.
	 * NULL: the tree is all there is.
	 */
	const struct calltree *fine;
	/*
	 * Which stacks the tree has, and all of them, for pictures that can show the others when
	 * they are looked at. NULL: the tree is all there is.
	 */
	enum calltree_times times;
	const struct calltree *everything;
	/*
	 * Stacks with time of another kind, in the same periods; NULL: none. What the two weigh is
	 * never added up: a picture shows the tree alone, a profile can hold both.
	 */
	const struct calltree *other;
	const char *other_name; /* which time that is */
	uint64_t lost; /* weight that was due and is in no stack, where that is known */
	int knows_lost;
	const struct picture_verdicts *verdicts; /* which colours boxes have; NULL: by palette */
	const struct spread *spread; /* over the runs that the tree is of; NULL: not known */
	const struct ranks *ranks; /* of the job that the tree is of; NULL: of none. For tables */
	uint64_t duration_ns; /* of the run; 0: unknown */
	const struct picture_mark *marks; /* in order of time */
	uint32_t mark_count;
	int64_t created_s;    /* seconds since the epoch for a PDF's metadata; 0: none is written */
};

/* The palettes' names, NULL at the end. */
const char *const *palette_names(void);

/*
 * Write @tree (finished) as SVG, PNG or PDF to @out. @out is borrowed and not closed or flushed.
 * Equal trees and options give equal bytes.
 * Returns 0, or -errno (-EINVAL for a palette that does not exist, -EIO for what cairo calls a
 * write error, -ENOMEM, or @out's errno).
 */
int picture_write_svg(
	const struct calltree *tree, const struct picture_options *options, FILE *out);
int picture_write_png(
	const struct calltree *tree, const struct picture_options *options, FILE *out);
int picture_write_pdf(
	const struct calltree *tree, const struct picture_options *options, FILE *out);

#endif
