/* SPDX-License-Identifier: MIT */
/*
 * One pass over the tree in order. A box that is too narrow joins the run of narrow ones that
 * touches it on the left in the same row, and nothing above it is looked at; so the work and the
 * number of boxes follow the pixels.
 */
#include "render/layout.h"

#include <errno.h>
#include <stdlib.h>

/* The run of narrow boxes at the end of a row that is not drawn yet. */
struct run {
	uint64_t from, to; /* weights; from == to: none */
	uint32_t node;
	uint32_t count;
};

struct pass {
	struct layout *layout;
	const struct layout_limits *limits;
	const struct calltree *tree;
	const struct preorder *preorder;
	struct run *runs;    /* per row */
	uint64_t *next_from; /* per row: where the next box of that row begins */
	double scale;	     /* pixels per weight */
	double narrowest_px;
};

/* Returns 0, -ENOMEM, or -E2BIG when the limit on boxes is reached. */
static int add_box(struct pass *pass, const struct layout_box *box)
{
	struct layout *layout = pass->layout;

	if (layout->count >= pass->limits->boxes)
		return -E2BIG;
	if (layout->count == layout->room) {
		uint32_t room = layout->room ? layout->room * 2 : 256;
		struct layout_box *boxes = reallocarray(layout->boxes, room, sizeof(*boxes));

		if (!boxes)
			return -ENOMEM;
		layout->boxes = boxes;
		layout->room = room;
	}
	layout->boxes[layout->count++] = *box;
	if (box->row >= layout->rows)
		layout->rows = box->row + 1;
	return 0;
}

static int flush_run(struct pass *pass, uint32_t row)
{
	struct run run = pass->runs[row];
	struct layout_box box = {
		.left_px = (double)run.from * pass->scale,
		.width_px = (double)(run.to - run.from) * pass->scale,
		.row = row,
		.node = run.node,
		.count = run.count,
		.kind = LAYOUT_SLIVER,
	};

	pass->runs[row] = (struct run){0};
	return box.width_px >= pass->narrowest_px ? add_box(pass, &box) : 0;
}

static int extend_run(struct pass *pass, uint32_t row, uint32_t node, uint64_t from, uint64_t to)
{
	struct run *run = &pass->runs[row];
	int error = 0;

	if (run->from == run->to || run->to != from) {
		error = flush_run(pass, row);
		*run = (struct run){.from = from, .to = from, .node = node};
	}
	run->to = to;
	run->count++;
	return error;
}

/* One node whose row is within the limits. *@below tells whether to look at its children. */
static int place(struct pass *pass, uint32_t at, int *below)
{
	uint32_t number = pass->preorder->order[at], row = pass->preorder->depth[at];
	const struct calltree_node *node = calltree_node_at(pass->tree, number);
	uint64_t from = pass->next_from[row], to = from + node->total;
	double width_px = (double)node->total * pass->scale;
	int cut = row + 1 == pass->limits->rows;
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
	*below = !cut;
	if (!cut)
		pass->next_from[row + 1] = from;
	int error = flush_run(pass, row);

	return error ? error : add_box(pass, &box);
}

static int run_pass(struct pass *pass)
{
	const struct preorder *preorder = pass->preorder;

	pass->layout->count = 0;
	pass->layout->rows = 0;
	for (uint32_t row = 0; row < pass->limits->rows; row++)
		pass->runs[row] = (struct run){0};
	pass->next_from[0] = 0;
	for (uint32_t at = 0; at < preorder->nodes;) {
		int below;
		int error = place(pass, at, &below);

		if (error)
			return error;
		at = below ? at + 1 : preorder->end[at];
	}
	for (uint32_t row = 0; row < pass->limits->rows; row++) {
		int error = flush_run(pass, row);

		if (error)
			return error;
	}
	return 0;
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
	};
	int error = -ENOMEM;

	*layout = (struct layout){0};
	if (!pass.runs || !pass.next_from)
		goto out;
	error = 0;
	if (!total)
		goto out;
	while ((error = run_pass(&pass)) == -E2BIG && pass.narrowest_px < limits->width_px)
		pass.narrowest_px *= 2;
out:
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
