/* SPDX-License-Identifier: MIT */
/*
 * Compute the positions of the boxes. The time and the number of boxes are bounded by the number of
 * pixels of the picture, not by the size of the tree.
 */
#ifndef RENDER_LAYOUT_H
#define RENDER_LAYOUT_H

#include <stdint.h>

#include "render/calltree.h"

enum layout_kind {
	LAYOUT_NODE = 0,
	/* a merged box: several neighbours, each too narrow to be drawn */
	LAYOUT_SLIVER = 1,
	/* a mark in place of the levels above it that are not drawn */
	LAYOUT_DEEPER = 2,
};

struct layout_box {
	double left_px; /* distance from the left edge of the graph */
	double width_px;
	uint32_t row; /* 0 is the root's row */
	/* LAYOUT_SLIVER: first of the merged nodes; LAYOUT_DEEPER: first node that is not drawn */
	uint32_t node;
	/* LAYOUT_SLIVER: number of merged nodes; LAYOUT_DEEPER: number of levels not drawn */
	uint32_t count;
	enum layout_kind kind;
};

struct layout {
	/* sorted by row, then from left to right */
	struct layout_box *boxes;
	uint32_t count;
	uint32_t rows; /* highest row in use, plus one */
	/* largest number of levels cut off from one stack; 0 if none */
	uint32_t folded;
	uint32_t room;
};

struct layout_limits {
	double width_px; /* width of the root */
	/* a box that is narrower is merged with its neighbours */
	double narrowest_px;
	/* maximum number of rows, including the rows of LAYOUT_DEEPER boxes; at least 2 */
	uint32_t rows;
	/* number of rows next to the root that are never cut off */
	uint32_t calm_rows;
	/* last rows beyond calm_rows are cut off if each row's boxes sum up to less than this */
	double needle_px;
	/* maximum number of boxes; narrowest_px doubles until the boxes fit */
	uint32_t boxes;
};

/*
 * Lay out @tree (finished) into the caller's @layout. @tree and its @preorder are borrowed for the
 * call. A tree without weight gives no box. Returns 0, or -ENOMEM with *layout released.
 */
int layout_init(struct layout *layout, const struct calltree *tree, const struct preorder *preorder,
	const struct layout_limits *limits);
void layout_release(struct layout *layout);

#endif
