/* SPDX-License-Identifier: MIT */
/*
 * The whole call tree as data inside the SVG: what the viewer reads, and what makes the picture an
 * archive. Version 1:
 *
 *   <metadata id="flamerun" data-format="1"> holds <piece>s of base64 with line ends, each piece
 *   whole bytes and at most 1 MiB of text, which every XML reader takes. Their bytes joined are one
 *   zlib stream (it ends in a checksum) of columns, each { tag: varint, bytes: varint, that many
 *   bytes }. Readers skip tags they do not know. Numbers in columns are LEB128 varints, "signed"
 *   ones zigzag; texts are UTF-8 or whatever bytes the symbol had.
 *
 *   Frames are numbered by name; nodes are in depth-first order, siblings by frame number, node 0
 *   is the root.
 *
 * There are columns and not rows because similar values next to each other deflate to half the
 * size. A range coder for the nodes and base 91 would make pictures of real programs 1 % smaller.
 */
#ifndef RENDER_EMBED_H
#define RENDER_EMBED_H

#include <stdio.h>

#include "render/calltree.h"
#include "render/style.h"

enum embed_tag {
	EMBED_TITLE = 1,	/* text */
	EMBED_SUBTITLE = 2,	/* text */
	/*
	 * period_ns, duration_ns, nodes, frames, modules, threads, samples, colours, the root's
	 * colour, the colour of merged boxes
	 */
	EMBED_NUMBERS = 3,
	/* red, green, blue: a byte each, per colour */
	EMBED_COLORS_LIGHT = 4,
	EMBED_COLORS_DARK = 5,
	/* per module: byte length, bytes; number 0 is "" */
	EMBED_MODULES = 6,
	EMBED_NAME_LENGTHS = 7,	 /* per frame, bytes */
	EMBED_NAMES = 8,	 /* the bytes of all names */
	EMBED_FRAME_MODULES = 9, /* per frame */
	EMBED_FRAME_KINDS = 10,	 /* per frame: enum calltree_frame_kind */
	EMBED_FRAME_COLORS = 11, /* per frame */
	/*
	 * per node but the root: how many levels its parent is above the node before it, 0 when it
	 * is that node
	 */
	EMBED_NODE_UPS = 12,
	EMBED_NODE_FRAMES = 13,	 /* per node but the root */
	EMBED_NODE_WEIGHTS = 14, /* per node: its own */
	EMBED_THREADS = 15,	 /* per thread: byte length, bytes */
	/* Before version 1, in any order, and in its place EMBED_TICK to EMBED_SAMPLE_KINDS. */
	/* per sample, signed: microseconds since the one before */
	EMBED_OLD_TIMES = 16,
	/* per sample, signed: node number minus the one before */
	EMBED_OLD_NODES = 17,
	EMBED_OLD_THREADS = 18,
	EMBED_OLD_WEIGHTS = 19,
	EMBED_OLD_KINDS = 20,
	EMBED_EMPTY = 21,	 /* text shown instead of boxes */
	/* text: what one unit of weight is called, "samples" */
	EMBED_COUNT_NAME = 22,
	/* text, lines separated by newlines; empty: none */
	EMBED_NOTES = 23,
	/* text: the CSS font-family list of the static picture's texts */
	EMBED_FONT = 24,
	/* text: the palette's name, for people; colours come as above */
	EMBED_PALETTE = 25,
	/*
	 * As asked for, defaults filled in and bounds applied: direction (enum picture_direction),
	 * ground (enum picture_ground), 1 when the tree was merged from the leaf else 0, width of
	 * the static picture in px; then in hundredths of a px: height of a row (the gap of 1 px
	 * included), size of the label font, narrowest box drawn by itself; are labels whole where
	 * there is room; which stacks are drawn (enum calltree_times); were root frames for
	 * processes, and for threads, asked for.
	 */
	EMBED_VIEW = 26,
	/* per mark: microseconds since the one before */
	EMBED_MARK_TIMES = 27,
	EMBED_MARK_TEXTS = 28, /* per mark: byte length, bytes */
	/* Source lines, where any are known; those of a frame from the heaviest total down. */
	EMBED_FILES = 29,	/* per source file: byte length, bytes */
	/* per frame: lines in the columns below, at most EMBED_LINES_MAX */
	EMBED_LINE_COUNTS = 30,
	EMBED_LINES_MORE = 31,	/* per frame: lines beside those */
	EMBED_LINE_FILES = 32,	/* per line */
	/* per line, signed: number, 0 for unknown, minus the one before */
	EMBED_LINE_NUMBERS = 33,
	/* per line: weight of samples whose leaf it is */
	EMBED_LINE_SELVES = 34,
	/* per line: weight of stacks in which it is */
	EMBED_LINE_TOTALS = 35,
	EMBED_LINE_WAITS = 36,	/* per line: of that, of stacks that wait */
	/* What the colours mean, waits left out; see render/legend.h. */
	/* per entry: LEGEND_SHADES places in the table of colours */
	EMBED_LEGEND_COLORS = 37,
	EMBED_LEGEND_TEXTS = 38,  /* per entry: byte length, bytes */
	/* What the viewer has no use for, and who reads the file back has. */
	/* per thread: byte length, bytes; as calltree_thread() */
	EMBED_THREAD_PROCESSES = 40,
	EMBED_MARK_THREADS = 41,     /* per mark: tid */
	EMBED_CREATED = 42,	     /* seconds since the epoch; 0: unknown */
	/* text: which time it is; empty: the default */
	EMBED_TIME_NAME = 43,
	EMBED_FILTERS = 44,	     /* text: what was left out */
	/*
	 * The table of samples, see render/samples.h; none of it where there are no times. In
	 * planes, each: the lowest byte of all numbers, then the next of all, four at most.
	 */
	/* microseconds of a unit of their time */
	EMBED_TICK = 45,
	EMBED_SAMPLE_TIMES = 46,
	EMBED_SAMPLE_NODES = 47,
	EMBED_SAMPLE_THREADS = 48,
	EMBED_SAMPLE_WEIGHTS = 49,
	EMBED_SAMPLE_KINDS = 50,
	/* Per frame, byte length, bytes: what there is to say of it. None where nothing is. */
	EMBED_FRAME_TEXTS = 51,
	/*
	 * Of a picture of several runs of one program: how many they are; of each, nanoseconds that
	 * it took, and of the CPU; of each frame 0, or 1 and the standard deviations over runs of
	 * its function's shares, self and total, in millionths.
	 */
	EMBED_SPREAD = 52,
};

/* Lines of a function, so that pictures stay small; the others are in profiles. */
#define EMBED_LINES_MAX 8u

/*
 * Write the metadata element. Everything is borrowed; @preorder and @style are of @tree.
 * Returns 0, or -ENOMEM, or -errno of @out.
 */
int embed_write(const struct calltree *tree, const struct preorder *preorder,
	const struct style *style, FILE *out);

#endif
