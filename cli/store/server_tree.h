/* SPDX-License-Identifier: MIT */
/*
 * The weights, stacks and frames from one server, as a part of a call tree. Answers are checked:
 * each stack must lead to the root within SERVER_DEPTH_MAX steps, which excludes circles.
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

/* All zero is empty. */
struct server_tree {
	struct hashes hashes;	      /* of stacks */
	struct bytes parents, frames; /* uint64_t, indexed like @hashes */
	struct named_frames named;
	uint32_t *node; /* owned; index -> node of the tree; UINT32_MAX: none yet */
	uint32_t *path; /* owned; scratch space for SERVER_DEPTH_MAX indices */
	bool has_names; /* @node has nodes of the tree; before, it marks used stacks */
};

/*
 * Index the rows of @stacks (stack, parent, frame: UInt64) and @frames (see store_frame_read();
 * borrowed as long as the object). Returns 0, -EPROTO (damaged) or -ENOMEM.
 */
int server_tree_index(
	struct server_tree *server, const struct bytes *stacks, const struct bytes *frames);

/* Run and scale of a group of weights. */
struct server_unit {
	uint32_t run;
	uint64_t factor; /* weights are multiplied by it */
};

/* An attempt that was asked for, and the index of its unit. */
struct server_attempt {
	uint32_t attempt, unit;
};

/*
 * Weights as a server sends them: rows of a stack and an array of UInt64. Without attempts, an
 * element is a weight in @unit; with attempts, it has the attempt in its upper and the weight in
 * its lower 32 bits.
 */
struct server_weights {
	const struct bytes *rows; /* borrowed, like the attempts */
	uint32_t unit;
	const struct server_attempt *attempts; /* sorted; NULL: none */
	size_t attempt_count;
	uint32_t *buckets; /* owned; [upper bits of an attempt] -> number of lower ones */
};

/* Mark the frames of @weights as used. */
void server_tree_use(struct server_tree *server, const struct server_weights *weights);

/*
 * Weights of all servers, collected before they are added to the tree. All zero but @units
 * (borrowed) and @unit_count is empty. Unit indices in weights are below unit_count.
 */
struct server_sums {
	const struct server_unit *units;
	unsigned unit_count;
	bool has_runs;	    /* each weight is also a sample of its run */
	struct bytes parts; /* struct part; private */
	uint64_t weight;    /* sum of all weights, before scaling */
	uint64_t unknown;   /* the part of it whose stack or frame the server does not have */
};

/*
 * Find the stacks of @weights in @tree (the same tree in each call) and append them to @sums. Call
 * it after named_frames_ask(). @weights is borrowed until server_sums_add(). Stacks that lead
 * nowhere become "[unknown stack]". Returns 0, -EPROTO (damaged) or -ENOMEM.
 */
int server_tree_add_weights(struct server_tree *server, struct server_weights *weights,
	struct calltree *tree, struct server_sums *sums);
void server_weights_release(struct server_weights *weights);

/* Add all collected weights to @tree. Returns 0, -EPROTO (damaged), -EOVERFLOW or -ENOMEM. */
int server_sums_add(struct server_sums *sums, struct calltree *tree);
void server_sums_release(struct server_sums *sums);

void server_tree_release(struct server_tree *server);

#endif
