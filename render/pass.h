/* SPDX-License-Identifier: MIT */
/*
 * A pass makes a new call tree from an old one. The pass decides which node of the new tree gets
 * each old node's self weight; if the samples of one node are split, it decides for each sample.
 * Weights, samples, lines and threads are then copied by the code here, which all passes share.
 */
#ifndef RENDER_PASS_H
#define RENDER_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "render/calltree.h"

struct transform_matcher;
struct transform_shape;

/* In place of a node number: this weight is left out. */
#define PASS_NOWHERE UINT32_MAX

/* What happens to the table of lines. */
enum pass_lines {
	PASS_LINES_STAY,
	/* dropped: the new frames are not functions */
	PASS_LINES_LEAVE,
	/* without the weight of stacks that wait */
	PASS_LINES_CPU,
	PASS_LINES_WAITS  /* only the weight of stacks that wait */
};

struct pass {
	const struct calltree *from;
	struct calltree *to;
	uint32_t nodes;	   /* number of nodes of @from */
	uint8_t *is_leaf;  /* [node] -> a stack ends there */
	/* [old frame] -> its number in @to, see pass_frame() */
	uint32_t *frames;
	/* [old frame] -> the matcher's result; 0 if there is no matcher */
	uint8_t *matches;
	/* [old node] -> new node that gets its self weight */
	uint32_t *new_node;
	/*
	 * [sample] -> new node that gets it and its weight, from pass_array(); NULL: by @new_node
	 */
	uint32_t *sample_node;
	/* weight that went to PASS_NOWHERE, without stacks that wait */
	uint64_t left_out;
	const struct transform_shape *shape; /* NULL for filters */
	const struct transform_matcher *matcher; /* NULL: none */
	/*
	 * Changes a frame before it is added to @to (or NULL). Strings: valid until the next call.
	 */
	void (*rename)(struct pass *pass, struct calltree_frame *frame);
	char *text;	   /* buffer of @rename; owned */
	enum pass_lines lines;
};

/* Fills pass->new_node. Returns 0 or -ENOMEM; other errors poison the new tree. */
typedef int pass_fn(struct pass *pass);

/*
 * Run @run on *@tree and replace *@tree (owned, finished) by the result. If *@tree is NULL, the
 * pass reads @source (borrowed) instead. *@left_out is set to pass.left_out. @matcher may be NULL.
 * Returns 0, or -ENOMEM or the error of the new tree, with nothing changed.
 */
int pass_run(const struct calltree *source, pass_fn *run, const struct transform_matcher *matcher,
	const struct transform_shape *shape, struct calltree **tree, uint64_t *left_out);

const struct calltree_node *pass_node(const struct pass *pass, uint32_t node);

/* Is the frame of @node of @kind? The root has no frame. */
bool pass_is(const struct pass *pass, uint32_t node, enum calltree_frame_kind kind);

/* Returns the number in the new tree of old frame @number, which is copied at its first use. */
uint32_t pass_frame(struct pass *pass, uint32_t number);

/* Returns the child of new node @parent that has the frame of old node @node. */
uint32_t pass_child(struct pass *pass, uint32_t parent, uint32_t node);

/*
 * Return an owned array of the self weights of the old nodes, and subtract @sample's weight from
 * its node's element. pass_subtract() returns the weight subtracted, which is never more than was
 * left.
 */
uint64_t *pass_weights(const struct pass *pass);
uint64_t pass_subtract(const struct calltree_sample *sample, uint64_t *weights);

/* Returns an owned, zeroed array, or NULL if out of memory. A @count of 0 does not give NULL. */
void *pass_array(size_t count, size_t bytes);

/* Passes in files of their own; struct transform_shape says what they do. */
pass_fn collapse_pass, groups_pass, idle_pass;

#endif
