/* SPDX-License-Identifier: MIT */
/*
 * One pass from a tree to a new one. A pass decides where in the new tree each old node's own
 * weight goes, or each sample's where a node's samples part; weights, samples and threads follow.
 *
 * A contract of its own, for the passes are in several files.
 */
#ifndef RENDER_PASS_H
#define RENDER_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "render/calltree.h"

struct transform_matcher;
struct transform_shape;

/* Instead of a node: weight that goes there is left out. */
#define PASS_NOWHERE UINT32_MAX

/* What becomes of the table of lines. */
enum pass_lines {
	PASS_LINES_STAY,
	PASS_LINES_LEAVE, /* what they are of is no function any more */
	PASS_LINES_CPU,	  /* without the stacks that wait */
	PASS_LINES_WAITS  /* of those alone */
};

struct pass {
	const struct calltree *from;
	struct calltree *to;
	uint32_t nodes;	   /* of @from */
	uint8_t *is_leaf;  /* [node] -> stacks end there */
	uint32_t *frames;  /* [frame] -> the same in @to, see pass_frame() */
	uint8_t *matches;  /* [frame] -> what the matcher said; 0 without one */
	uint32_t *place;   /* [node] -> where its own weight goes: what a pass fills, with 0s */
	uint32_t *placed;  /* [sample] -> where it goes, with as much of its node's weight; NULL:
			      where the node's goes. To be made by pass_array() */
	uint64_t left_out; /* weight that went nowhere, but of stacks that end in a wait */
	const struct transform_shape *shape; /* NULL for filters */
	const struct transform_matcher *matcher; /* NULL: none */
	/*
	 * Changes what a frame is called in @to, to strings that stay until the next one; NULL:
	 * nothing.
	 */
	void (*rename)(struct pass *pass, struct calltree_frame *frame);
	char *text;	   /* for rename; owned */
	enum pass_lines lines;
};

/* Returns 0 or -ENOMEM; what poisons the new tree shows there. */
typedef int pass_fn(struct pass *pass);

/*
 * Replace *@tree (owned, finished; NULL at first for @source, which is borrowed) by what @run makes
 * of it, @left_out being as in struct pass. @matcher is NULL for none.
 * Returns 0, or -ENOMEM or what poisoned the new tree with nothing changed.
 */
int pass_run(const struct calltree *source, pass_fn *run, const struct transform_matcher *matcher,
	const struct transform_shape *shape, struct calltree **tree, uint64_t *left_out);

const struct calltree_node *pass_node(const struct pass *pass, uint32_t node);

/* Is the frame of @node of @kind? The root has none. */
bool pass_is(const struct pass *pass, uint32_t node, enum calltree_frame_kind kind);

/* The number in the new tree of frame @number of the old one, copied when it is needed first. */
uint32_t pass_frame(struct pass *pass, uint32_t number);

/* The new node below the new node @parent that has the frame of the old node @node. */
uint32_t pass_child(struct pass *pass, uint32_t parent, uint32_t node);

/* Own weights by old node, owned; and the part of them that @sample has, taken out of them. */
uint64_t *pass_weights(const struct pass *pass);
uint64_t pass_subtract(const struct calltree_sample *sample, uint64_t *weights);

/* @count zeros of @bytes each, and room for one more: never NULL but without memory. Owned. */
void *pass_array(size_t count, size_t bytes);

/* The passes that fill files of their own; transform.h says what they do. */
pass_fn collapse_pass, groups_pass, idle_pass;

#endif
