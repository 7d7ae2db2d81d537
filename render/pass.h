/* SPDX-License-Identifier: MIT */
/*
 * A pass makes a new call tree from an old one. The pass chooses the new node that gets each old
 * node's self weight; if samples of one old node go to several new nodes, it chooses a node for
 * each sample. Weights, samples, lines and threads are then copied by render/pass.c for all passes.
 */
#ifndef RENDER_PASS_H
#define RENDER_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "render/calltree.h"

struct transform_matcher;
struct transform_shape;

/* Used in place of a new node's number if the new tree shall not have the weight. */
#define PASS_NOWHERE UINT32_MAX

/* How a pass changes the table of lines. */
enum pass_lines {
	PASS_LINES_STAY,
	/* drop the table, because the new frames are not functions */
	PASS_LINES_LEAVE,
	/* subtract the weight of waiting stacks */
	PASS_LINES_CPU,
	PASS_LINES_WAITS /* keep only the weight of waiting stacks */
};

struct pass {
	const struct calltree *from;
	struct calltree *to;
	uint32_t nodes;	  /* number of nodes of @from */
	uint8_t *is_leaf; /* [node] -> a stack ends there */
	/* [old frame] -> its number in @to; set by pass_frame() */
	uint32_t *frames;
	/* [old frame] -> the matcher's result; 0 if there is no matcher */
	uint8_t *matches;
	/* [old node] -> new node that gets the old node's self weight */
	uint32_t *new_node;
	/*
	 * [sample] -> new node that gets the sample and its weight, an array from pass_array();
	 * NULL if all samples follow @new_node
	 */
	uint32_t *sample_node;
	/* weight that went to PASS_NOWHERE, not counting waiting stacks */
	uint64_t left_out;
	const struct transform_shape *shape;	 /* NULL for filters */
	const struct transform_matcher *matcher; /* NULL: none */
	/*
	 * changes a frame before the frame is added to @to; may be NULL. A text that the function
	 * sets must stay valid until the function is called again
	 */
	void (*rename)(struct pass *pass, struct calltree_frame *frame);
	char *text; /* buffer for @rename; owned */
	enum pass_lines lines;
};

/* Fill pass->new_node. Returns 0 or -ENOMEM; other errors are those of the new tree, pass->to. */
typedef int pass_fn(struct pass *pass);

/*
 * Apply the pass @run to *@tree and replace *@tree (owned, finished) by the new tree. If *@tree is
 * NULL, the pass reads @source (borrowed) instead. Set *@left_out to the weight that the new tree
 * lacks, as pass.left_out counts it. @matcher may be NULL. Returns 0, or -ENOMEM or the error of
 * the new tree, with nothing changed.
 */
int pass_run(const struct calltree *source, pass_fn *run, const struct transform_matcher *matcher,
	const struct transform_shape *shape, struct calltree **tree, uint64_t *left_out);

const struct calltree_node *pass_node(const struct pass *pass, uint32_t node);

/* Does @node have a frame of @kind? Returns false for the root, which has no frame. */
bool pass_is(const struct pass *pass, uint32_t node, enum calltree_frame_kind kind);

/* Values for pass.rename: drop what only fine trees have, its mapping or also file and line. */
void pass_drop_address(struct pass *pass, struct calltree_frame *frame);
void pass_drop_source(struct pass *pass, struct calltree_frame *frame);

/* Returns the number in the new tree of old frame @number, copying it at the first call. */
uint32_t pass_frame(struct pass *pass, uint32_t number);

/* Returns the child of new node @parent with the frame of old node @node; adds it if missing. */
uint32_t pass_child(struct pass *pass, uint32_t parent, uint32_t node);

/*
 * pass_weights() returns an owned array of the self weights of the old nodes. pass_subtract()
 * subtracts @sample's weight, but at most what remains, from the array element of its node, and
 * returns the subtracted weight.
 */
uint64_t *pass_weights(const struct pass *pass);
uint64_t pass_subtract(const struct calltree_sample *sample, uint64_t *weights);

/*
 * Returns an owned array of @count zeroed elements of @bytes bytes, or NULL if out of memory. A
 * @count of 0 does not give NULL.
 */
void *pass_array(size_t count, size_t bytes);

/*
 * Passes that have files of their own. They implement the fields of struct transform_shape:
 * collapse_recursion, by_process and by_thread, fold_idle.
 */
pass_fn collapse_pass, groups_pass, idle_pass;

#endif
