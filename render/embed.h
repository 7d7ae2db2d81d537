/* SPDX-License-Identifier: MIT */
/*
 * The whole call tree as data inside the SVG: what the viewer reads, and what makes the picture an
 * archive. Version 2:
 *
 *   <metadata id="flamerun" data-version="2"> pieces of text (render/pack.h), which joined are a
 *   zlib stream of columns, each { tag: varint, bytes: varint, that many bytes }. Readers skip
 *   tags they do not know. Numbers in columns are LEB128 varints, "signed" ones zigzag; texts are
 *   UTF-8 or whatever bytes the symbol had.
 *
 *   Frames are numbered by name; nodes are in depth-first order, siblings by frame number, node 0
 *   is the root and has the number behind the last frame.
 *
 * EMBED_NODES is no row of numbers but one range-coded stream (render/range.c): a zero byte, then
 * the code, of which four bytes are looked at first. The width begins as 2^30 - 1; the code is
 * always below it.
 *   equal parts (start, size, total): part = width / total; the code / part lies in
 * [start, start + size); code -= start * part; width = size * part. Whenever width < 2^22,
 * both get 8 bits longer.
 *   a number below a limit: with the fewest low bits s that leave (limit - 1) >> s < 2^16, its
 * high part of ((limit - 1) >> s) + 1 equal parts, then, if s, its low part of 2^s.
 *   a bit by a chance: chance kept in [32, 65504], bound = (width >> 12) * (chance >> 4); a one
 * below the bound, which is the new width, else a zero, and both lose the bound. A chance
 * begins at 32768 after 0 bits seen and learns: chance += (target - chance) * step >> 15
 * with a step of 65536 / (2 * seen + 3), target 65535 or 0; seen goes up to 250. Divisions
 * are of whole numbers, shifts round down.
 *   a bit by two chances, an own and a shared one: as by the chance
 * shared + ((own - shared) * trust >> 15) with a trust of 65536 * seen / (2 * seen + 3),
 * seen being the own one's, which goes up to 60 only. Both learn.
 *
 * For every node in order, f being its frame:
 *   1. Has it weight of its own? By a chance of f's, and one. Then the weight: bit by bit (a chance
 * for each place) whether it is longer than 1, 2, ... bits, at most 64; below its leading
 * one three bits by chances for length and bits before, the rest of two equal parts.
 *   2. Its children by number, before each and after the last: is there one more? By chances for
 * {has it weight, min(children so far, 2)}, an own one of f's, the shared one also for
 * whether there are callees left of f. These are frames seen as children of f, in order of
 * number, the first EMBED_CALLEES_MAX that came, each with how many times it came; left are
 * those above the last child. Then if any are left: is it one of them? By a chance for
 * {min(callees left, EMBED_KNOWN_MAX), min(log2 of their times, EMBED_TIMES_LOG_MAX)}. If
 * so, which, each having as many equal parts as times; else its number less the lowest
 * possible, below frames less that. What was learned from this node counts from the next
 * one on. When f's times reach EMBED_TIMES_MAX at the begin of a node, each is halved,
 * rounded up.
 */
#ifndef RENDER_EMBED_H
#define RENDER_EMBED_H

#include <stdio.h>

#include "render/calltree.h"
#include "render/style.h"

enum embed_tag {
	EMBED_TITLE = 1,	/* text */
	EMBED_SUBTITLE = 2,	/* text */
	EMBED_NUMBERS = 3,	/* period_ns, duration_ns, nodes, frames, modules, threads, samples,
				 * colours, the root's colour, the colour of merged boxes */
	EMBED_COLORS_LIGHT = 4, /* red, green, blue: a byte each, per colour */
	EMBED_COLORS_DARK = 5,
	EMBED_MODULES = 6,	 /* per module: byte length, bytes; number 0 is "" */
	EMBED_NAME_LENGTHS = 7,	 /* per frame, bytes */
	EMBED_NAMES = 8,	 /* the bytes of all names */
	EMBED_FRAME_MODULES = 9, /* per frame */
	EMBED_FRAME_KINDS = 10,	 /* per frame: enum calltree_frame_kind */
	EMBED_FRAME_COLORS = 11, /* per frame */
	EMBED_NODES = 12,	 /* see above */
	EMBED_THREADS = 15,	 /* per thread: byte length, bytes */
	EMBED_SAMPLE_TIMES = 16, /* per sample, signed: microseconds since the one before */
	EMBED_SAMPLE_NODES = 17, /* per sample, signed: node number minus the one before */
	EMBED_SAMPLE_THREADS = 18,
	EMBED_SAMPLE_WEIGHTS = 19,
	EMBED_SAMPLE_KINDS = 20, /* enum calltree_sample_kind */
	EMBED_EMPTY = 21,	 /* text shown instead of boxes */
	EMBED_COUNT_NAME = 22,	 /* text: what one unit of weight is called, "samples" */
	EMBED_NOTES = 23,	 /* text, lines separated by newlines; empty: none */
	EMBED_FONT = 24,	 /* text: the CSS font-family list of the static picture's texts */
	EMBED_PALETTE = 25,	 /* text: the palette's name, for people; colours come as above */
	/*
	 * As asked for, defaults filled in and bounds applied: direction (enum picture_direction),
	 * ground (enum picture_ground), 1 when the tree was merged from the leaf else 0, width of
	 * the static picture in px; then in hundredths of a px: height of a row (the gap of 1 px
	 * included), size of the label font, narrowest box drawn by itself.
	 */
	EMBED_VIEW = 26,
	EMBED_MARK_TIMES = 27, /* per mark: microseconds since the one before */
	EMBED_MARK_TEXTS = 28, /* per mark: byte length, bytes */
};

enum {
	EMBED_MORE_CASES = 6,
	EMBED_KNOWN_MAX = 7,
	EMBED_TIMES_LOG_MAX = 6,
	EMBED_CALLEES_MAX = 128,
	EMBED_TIMES_MAX = 8192,
};

/*
 * Write the metadata element. Everything is borrowed; @preorder and @style are of @tree.
 * Returns 0, or -ENOMEM, or -errno of @out.
 */
int embed_write(const struct calltree *tree, const struct preorder *preorder,
	const struct style *style, FILE *out);

#endif
