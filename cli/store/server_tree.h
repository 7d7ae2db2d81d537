/* SPDX-License-Identifier: MIT */
/*
 * What one server said of weights, stacks and frames, as a part of a call tree. Each answer is
 * checked: stacks lead to the root, in so many steps at the most, and not in a circle.
 *
 * Context: one thread.
 */
#ifndef CLI_STORE_SERVER_TREE_H
#define CLI_STORE_SERVER_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/store/named_frames.h"
#include "cli/store/rows.h"
#include "render/calltree.h"

#define SERVER_DEPTH_MAX 65536u

/* All zero is an empty one. */
struct server_tree {
	struct hashes hashes;	      /* of stacks */
	struct bytes parents, frames; /* uint64_t each, by place in ->hashes */
	struct named_frames named;
	uint32_t *node;	  /* owned; by place: the tree's node, UINT32_MAX: none yet */
	uint32_t *way;	  /* owned; SERVER_DEPTH_MAX places */
	bool has_names;	  /* ->node is of the tree, no more of what is used */
};

/*
 * Take the rows of @stacks (stack, parent, frame UInt64) and @frames (as store_frame_read() has
 * them, borrowed as long as the object). Returns 0, -EPROTO for damage, -ENOMEM.
 */
int server_tree_take(
	struct server_tree *server, const struct bytes *stacks, const struct bytes *frames);

/* What weights of one run and period mean. */
struct server_unit {
	uint32_t run;
	uint64_t factor; /* of its weights */
};

/* An attempt that was asked for, and the number of its unit. */
struct server_attempt {
	uint32_t attempt, unit;
};

/*
 * Weights as a server sends them: rows of a stack and an array of UInt64. Each of those is a
 * weight of one unit, or where there are attempts, one that an attempt's 32 bits stand above.
 */
struct server_weights {
	const struct bytes *rows; /* borrowed, as the attempts are */
	uint32_t unit;
	const struct server_attempt *attempts; /* sorted; NULL: there are none */
	size_t attempt_count;
	uint32_t *places; /* owned; by an attempt's first bits: how many are below */
};

/* Mark the frames of @weights as used. */
void server_tree_use(struct server_tree *server, const struct server_weights *weights);

/*
 * What servers have of the stacks of one tree, until all have said it. All zero but for the units
 * (borrowed), below whose count are all that weights have, is empty.
 */
struct server_sums {
	const struct server_unit *units;
	unsigned unit_count;
	bool has_runs;	    /* each weight is a sample of its run, too */
	struct bytes parts; /* struct part, private */
	uint64_t weight;    /* that was added, in units of its rows */
	uint64_t unknown;   /* of that, on stacks or frames that their server does not have */
};

/*
 * Find the stacks of @weights (borrowed until they are added) in @tree, the same tree each time,
 * once those that are used have their names. What leads nowhere is "[unknown stack]".
 * Returns 0, -EPROTO for damage, -ENOMEM.
 */
int server_tree_place(struct server_tree *server, struct server_weights *weights,
	struct calltree *tree, struct server_sums *sums);
void server_weights_release(struct server_weights *weights);

/* Add up what was placed. Returns 0, -EPROTO for damage, -EOVERFLOW, -ENOMEM. */
int server_sums_add(struct server_sums *sums, struct calltree *tree);
void server_sums_release(struct server_sums *sums);

void server_tree_release(struct server_tree *server);

#endif
