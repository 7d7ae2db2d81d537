/* SPDX-License-Identifier: MIT */
/*
 * The whole call tree as data inside the SVG, for the viewer and for reading the picture back as a
 * profile. Format version 1:
 *
 *   <metadata id="flamerun" data-format="1"> contains <piece> elements of base64 in lines. Each
 *   piece is a whole number of bytes and at most 1 MiB of text, which every XML reader accepts.
 *   The pieces' bytes joined are one zlib stream (which ends in a checksum) of columns. A column
 *   is { tag: varint, length in bytes: varint, that many bytes }. Readers skip unknown tags.
 *   Numbers in columns are LEB128 varints; "signed" numbers are zigzag-encoded first. Texts are
 *   UTF-8 or whatever bytes the symbol had.
 *
 *   Frames are numbered in order of name. Nodes are in depth-first order, siblings by frame
 *   number; node 0 is the root.
 *
 * Columns compress to half the size of rows, because similar values are next to each other.
 */
#ifndef RENDER_EMBED_H
#define RENDER_EMBED_H

#include <stdio.h>

#include "render/calltree.h"
#include "render/style.h"

enum embed_tag {
	EMBED_TITLE = 1,    /* text */
	EMBED_SUBTITLE = 2, /* text */
	/*
	 * period_ns, duration_ns; then the numbers of nodes, frames, modules, threads, samples and
	 * colours; then the colour indices of the root's box and of merged boxes
	 */
	EMBED_NUMBERS = 3,
	/* per colour: three bytes red, green, blue */
	EMBED_COLORS_LIGHT = 4,
	EMBED_COLORS_DARK = 5,
	/* per module: length in bytes, name; module 0 is "" */
	EMBED_MODULES = 6,
	EMBED_NAME_LENGTHS = 7,	 /* per frame: length of its name in bytes */
	EMBED_NAMES = 8,	 /* the names of all frames, without separators */
	EMBED_FRAME_MODULES = 9, /* per frame: module number */
	EMBED_FRAME_KINDS = 10,	 /* per frame: enum calltree_frame_kind */
	EMBED_FRAME_COLORS = 11, /* per frame: colour index */
	/*
	 * per node except the root: number of levels from the previous node up to this node's
	 * parent (0: the previous node is the parent)
	 */
	EMBED_NODE_UPS = 12,
	EMBED_NODE_FRAMES = 13,	 /* per node except the root: frame number */
	EMBED_NODE_WEIGHTS = 14, /* per node: self weight */
	EMBED_THREADS = 15,	 /* per thread: length in bytes, name */
	/* Columns of samples in files before version 1, replaced by columns 45 to 50. */
	/* per sample, signed: microseconds since the sample before it */
	EMBED_OLD_TIMES = 16,
	/* per sample, signed: its node number minus that of the sample before it */
	EMBED_OLD_NODES = 17,
	EMBED_OLD_THREADS = 18,
	EMBED_OLD_WEIGHTS = 19,
	EMBED_OLD_KINDS = 20,
	EMBED_EMPTY = 21, /* text that is shown if there are no boxes */
	/* text: name of one unit of weight, such as "samples" */
	EMBED_COUNT_NAME = 22,
	/* text: the user's notes, lines separated by newlines; may be empty */
	EMBED_NOTES = 23,
	/* text: CSS font-family list of the texts of the static picture */
	EMBED_FONT = 24,
	/* text: the palette's name, for display; the viewer takes colours from the columns above */
	EMBED_PALETTE = 25,
	/*
	 * Numbers, the picture's options after defaults and bounds were applied: direction (enum
	 * picture_direction), ground (enum picture_ground), 1 if the tree was merged from the leaf,
	 * width of the static picture in px; in hundredths of a px: row height (with the gap of 1
	 * px), size of the label font, width of the narrowest box that is drawn by itself; 1 if
	 * labels show whole names where they fit; the drawn stacks (enum calltree_times); 1 if
	 * there are root frames for processes; 1 if there are root frames for threads.
	 */
	EMBED_VIEW = 26,
	/* per mark: microseconds since the mark before it */
	EMBED_MARK_TIMES = 27,
	EMBED_MARK_TEXTS = 28, /* per mark: length in bytes, text */
	/* Source lines, if the tree has any. A frame's lines are sorted by falling total. */
	EMBED_FILES = 29, /* per source file: length in bytes, name */
	/* per frame: number of its lines in the following columns, at most EMBED_LINES_MAX */
	EMBED_LINE_COUNTS = 30,
	EMBED_LINES_MORE = 31, /* per frame: number of its lines that were left out */
	EMBED_LINE_FILES = 32, /* per line: number of its source file */
	/* per line, signed: its line number (0: unknown) minus that of the line before it */
	EMBED_LINE_NUMBERS = 33,
	/* per line: weight of the samples whose leaf frame is at the line */
	EMBED_LINE_SELVES = 34,
	/* per line: weight of the stacks that contain the line */
	EMBED_LINE_TOTALS = 35,
	EMBED_LINE_WAITS = 36, /* per line: the part of its total in waiting stacks */
	/* The legend: meaning of the colours of frames other than waits, see render/legend.h. */
	/* per legend entry: LEGEND_SHADES colour indices */
	EMBED_LEGEND_COLORS = 37,
	EMBED_LEGEND_TEXTS = 38, /* per legend entry: length in bytes, text */
	/* The columns 40 to 44 are for reading the picture back; the viewer uses only 40 and 43. */
	/* per thread: length in bytes, the process's name as given to calltree_thread() */
	EMBED_THREAD_PROCESSES = 40,
	EMBED_MARK_THREADS = 41, /* per mark: thread id */
	EMBED_CREATED = 42,	 /* seconds since the epoch; 0: unknown */
	/* text: what the weights measure (picture_options.type_name); empty: the default */
	EMBED_TYPE_NAME = 43,
	EMBED_FILTERS = 44, /* text: the filters that were applied to the profile */
	/*
	 * The table of samples (render/samples.h), present if samples have times. The columns of
	 * samples are in planes: the lowest byte of all numbers, then the second byte of all, at
	 * most four planes.
	 */
	/* number of microseconds in one unit of EMBED_SAMPLE_TIMES */
	EMBED_TICK = 45,
	EMBED_SAMPLE_TIMES = 46,
	EMBED_SAMPLE_NODES = 47,
	EMBED_SAMPLE_THREADS = 48,
	EMBED_SAMPLE_WEIGHTS = 49,
	EMBED_SAMPLE_KINDS = 50,
	/*
	 * Per frame: length in bytes, a remark about the frame in words. Present in comparisons and
	 * in pictures of repeated runs of a program.
	 */
	EMBED_FRAME_TEXTS = 51,
	/*
	 * Present in pictures of repeated runs of a program: the number of runs; per run, its
	 * wall-clock ns and CPU ns; per frame, 0 if unknown, or 1 and the standard deviations over
	 * the runs of the function's self and total share, in millionths.
	 */
	EMBED_SPREAD = 52,
};

/* A picture has at most this many source lines per function, to stay small; profiles have all. */
#define EMBED_LINES_MAX 8u

/*
 * Write the metadata element to @out. All arguments are borrowed; @preorder and @style were made
 * for @tree. Returns 0, or -ENOMEM, or -errno of @out.
 */
int embed_write(const struct calltree *tree, const struct preorder *preorder,
	const struct style *style, FILE *out);

#endif
