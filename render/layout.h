/* SPDX-License-Identifier: MIT */
/*
 * Where boxes go: bounded by the pixels of the picture, not by the size of the tree.
 */
#ifndef RENDER_LAYOUT_H
#define RENDER_LAYOUT_H

#include <stdint.h>

#include "render/calltree.h"

enum layout_kind {
	LAYOUT_NODE = 0,
	LAYOUT_SLIVER = 1, /* a run of neighbours, each too narrow to be drawn */
	LAYOUT_DEEPER = 2, /* stands for the levels above it that were cut off */
};

struct layout_box {
	double left_px; /* from the left edge of the graph */
	double width_px;
	uint32_t row;	/* 0 is the root's */
	uint32_t node;	/* LAYOUT_SLIVER: first of the run; LAYOUT_DEEPER: outermost cut off */
	uint32_t count; /* LAYOUT_SLIVER: boxes merged; LAYOUT_DEEPER: levels cut off */
	enum layout_kind kind;
};

struct layout {
	struct layout_box *boxes; /* row by row, each from left to right */
	uint32_t count;
	uint32_t rows;	 /* highest row in use, plus one */
	uint32_t folded; /* most levels cut off anywhere; 0: none */
	uint32_t room;
};

struct layout_limits {
	double width_px;     /* of the whole tree */
	double narrowest_px; /* of a box drawn on its own */
	uint32_t rows;	    /* at most so many, the mark of what was cut off included; at least 2 */
	uint32_t calm_rows; /* so many rows are drawn however little is in them */
	double needle_px;   /* above them, rows whose boxes are narrower than this in all are cut */
	uint32_t boxes;	    /* when more would be needed, narrowest_px doubles until they fit */
};

/*
 * Lay @tree (finished, borrowed, ordered by @preorder) out into the caller's @layout. A tree
 * without weight gives no box. Returns 0, or -ENOMEM with *layout released.
 */
int layout_init(struct layout *layout, const struct calltree *tree, const struct preorder *preorder,
	const struct layout_limits *limits);
void layout_release(struct layout *layout);

#endif
