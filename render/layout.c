/* SPDX-License-Identifier: MIT */
/*
 * Lay out the tree in one pass over its preorder. A box that is too narrow is merged with the
 * narrow boxes next to it in its row, and its subtree is skipped. Time and the number of boxes
 * therefore depend on the picture's width, not on the size of the tree.
 */
#include "render/layout.h"

#include <errno.h>
#include <stdlib.h>

#include "render/array.h"

/* Neighbouring narrow boxes at the current end of a row, which will become one merged box. */
struct narrow_run {
	uint64_t from, to; /* range of weights; empty if equal */
	uint32_t node;
	uint32_t count;
};

struct pass {
	struct layout *layout;
	const struct layout_limits *limits;
	const struct calltree *tree;
	const struct preorder *preorder;
	struct narrow_run *runs; /* per row */
	/* [row] -> weight, counted from the left edge, at which the next box begins */
	uint64_t *next_from;
	double scale; /* pixels per weight */
	double narrowest_px;
	double *row_px; /* [row] -> width of all its boxes */
	uint32_t rows;	/* maximum number of rows */
};

/* Do not cut off fewer rows than this, because the mark for the cut takes a row itself. */
#define FEWEST_CUT 8u

/* Append a box. Returns 0, -ENOMEM, or -E2BIG if the limit on boxes is reached. */
static int add_box(struct pass *pass, const struct layout_box *box)
{
	struct layout *layout = pass->layout;

	if (layout->count >= pass->limits->boxes)
		return -E2BIG;
	if (ARRAY_GROW(layout->boxes, layout->count, layout->room, 256))
		return -ENOMEM;
	layout->boxes[layout->count++] = *box;
	if (box->row >= layout->rows)
		layout->rows = box->row + 1;
	return 0;
}

static int flush_run(struct pass *pass, uint32_t row)
{
	struct narrow_run run = pass->runs[row];
	struct layout_box box = {
		.left_px = (double)run.from * pass->scale,
		.width_px = (double)(run.to - run.from) * pass->scale,
		.row = row,
		.node = run.node,
		.count = run.count,
		.kind = LAYOUT_SLIVER,
	};

	pass->runs[row] = (struct narrow_run){0};
	return box.width_px >= pass->narrowest_px ? add_box(pass, &box) : 0;
}

static int extend_run(struct pass *pass, uint32_t row, uint32_t node, uint64_t from, uint64_t to)
{
	struct narrow_run *run = &pass->runs[row];
	int error = 0;

	if (run->from == run->to || run->to != from) {
		error = flush_run(pass, row);
		*run = (struct narrow_run){.from = from, .to = from, .node = node};
	}
	run->to = to;
	run->count++;
	return error;
}

/* Is @node a CALLTREE_IDLE frame? The picture does not show its subtree. */
static int is_idle(const struct calltree *tree, uint32_t node)
{
	return node != CALLTREE_ROOT &&
	       calltree_frame_at(tree, calltree_node_at(tree, node)->frame)->kind == CALLTREE_IDLE;
}

/*
 * Add the box of the node at preorder position @at, whose row is less than pass->rows. Set *@below
 * to whether the node's children must be placed too.
 */
static int place_node(struct pass *pass, uint32_t at, int *below)
{
	uint32_t number = pass->preorder->order[at], row = pass->preorder->depth[at];
	const struct calltree_node *node = calltree_node_at(pass->tree, number);
	uint64_t from = pass->next_from[row], to = from + node->total;
	double width_px = (double)node->total * pass->scale;
	int cut = row + 1 == pass->rows;
	struct layout_box box = {
		.left_px = (double)from * pass->scale,
		.width_px = width_px,
		.row = row,
		.node = number,
		.count = cut ? pass->preorder->height[at] + 1 : 1,
		.kind = cut ? LAYOUT_DEEPER : LAYOUT_NODE,
	};

	pass->next_from[row] = to;
	*below = 0;
	if (!node->total)
		return 0;
	if (width_px < pass->narrowest_px)
		return extend_run(pass, row, number, from, to);
	*below = !cut && !is_idle(pass->tree, number);
	if (*below)
		pass->next_from[row + 1] = from;
	pass->row_px[row] += width_px;
	if (cut && box.count > pass->layout->folded)
		pass->layout->folded = box.count;
	int error = flush_run(pass, row);

	return error ? error : add_box(pass, &box);
}

static int run_pass(struct pass *pass)
{
	const struct preorder *preorder = pass->preorder;

	pass->layout->count = 0;
	pass->layout->rows = 0;
	pass->layout->folded = 0;
	for (uint32_t row = 0; row < pass->rows; row++) {
		pass->runs[row] = (struct narrow_run){0};
		pass->row_px[row] = 0;
	}
	pass->next_from[0] = 0;
	for (uint32_t at = 0; at < preorder->nodes;) {
		int below;
		int error = place_node(pass, at, &below);

		if (error)
			return error;
		at = below ? at + 1 : preorder->end[at];
	}
	for (uint32_t row = 0; row < pass->rows; row++) {
		int error = flush_run(pass, row);

		if (error)
			return error;
	}
	return 0;
}

static int fit_boxes(struct pass *pass)
{
	int error;

	while ((error = run_pass(pass)) == -E2BIG && pass->narrowest_px < pass->limits->width_px)
		pass->narrowest_px *= 2;
	return error;
}

/*
 * Returns the number of rows to keep. Rows far from the root in which no box is readable are
 * cut off, because one deep and narrow stack would otherwise make the whole picture as high as it
 * is deep.
 */
static uint32_t rows_worth_drawing(const struct pass *pass)
{
	uint32_t rows = pass->layout->rows;

	while (rows > pass->limits->calm_rows && pass->row_px[rows - 1] < pass->limits->needle_px)
		rows--;
	/* Keep one more row for the marks (LAYOUT_DEEPER) of the stacks that were cut off. */
	return rows + 1 + FEWEST_CUT <= pass->layout->rows ? rows + 1 : pass->rows;
}

static int compare_boxes(const void *left, const void *right)
{
	const struct layout_box *a = left, *b = right;

	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	return (a->left_px > b->left_px) - (a->left_px < b->left_px);
}

int layout_init(struct layout *layout, const struct calltree *tree, const struct preorder *preorder,
	const struct layout_limits *limits)
{
	uint64_t total = calltree_total(tree);
	struct pass pass = {
		.layout = layout,
		.limits = limits,
		.tree = tree,
		.preorder = preorder,
		.runs = calloc(limits->rows, sizeof(*pass.runs)),
		.next_from = calloc((size_t)limits->rows + 1, sizeof(*pass.next_from)),
		.scale = total ? limits->width_px / (double)total : 0,
		.narrowest_px = limits->narrowest_px,
		.row_px = calloc(limits->rows, sizeof(*pass.row_px)),
		.rows = limits->rows,
	};
	int error = -ENOMEM;

	*layout = (struct layout){0};
	if (!pass.runs || !pass.next_from || !pass.row_px)
		goto out;
	error = 0;
	if (!total)
		goto out;
	error = fit_boxes(&pass);
	if (!error && rows_worth_drawing(&pass) < pass.rows) {
		pass.rows = rows_worth_drawing(&pass);
		error = fit_boxes(&pass);
	}
	if (!error)
		qsort(layout->boxes, layout->count, sizeof(*layout->boxes), compare_boxes);
out:
	free(pass.row_px);
	free(pass.runs);
	free(pass.next_from);
	if (error)
		layout_release(layout);
	return error;
}

void layout_release(struct layout *layout)
{
	free(layout->boxes);
	*layout = (struct layout){0};
}
