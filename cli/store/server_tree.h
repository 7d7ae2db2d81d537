/* SPDX-License-Identifier: MIT */
/*
 * Make the weights, stacks and frames from one server a part of a call tree. Answers are checked:
 * each stack must lead to the root within SERVER_DEPTH_MAX steps, so circles are refused. Context:
 * one thread.
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
	/* Owned. The tree's node by a stack's index; UINT32_MAX: none yet. */
	uint32_t *node;
	/* Owned. Scratch space for SERVER_DEPTH_MAX indices. */
	uint32_t *path;
	/* false: @node only marks used stacks; true: it has nodes of the tree */
	bool has_names;
};

/*
 * Index the rows of @stacks (stack, parent, frame: UInt64) and of @frames (see store_frame_read();
 * borrowed until the release). Returns 0, -EPROTO (damaged) or -ENOMEM.
 */
int server_tree_index(
	struct server_tree *server, const struct bytes *stacks, const struct bytes *frames);

/* A unit: the run of a group of weights, and the scale of its weights. */
struct server_unit {
	uint32_t run;
	uint64_t factor; /* of each weight */
};

/* An attempt that was requested, and the index of its unit. */
struct server_attempt {
	uint32_t attempt, unit;
};

/*
 * Weights as a server sends them: each row is a stack and an array of UInt64. If @attempts is NULL,
 * each number is a weight in @unit. Otherwise the upper 32 bits are the attempt, and the lower 32
 * bits are the weight.
 */
struct server_weights {
	const struct bytes *rows; /* borrowed, like the attempts */
	uint32_t unit;
	const struct server_attempt *attempts; /* sorted; NULL: none */
	size_t attempt_count;
	/* owned; [upper bits of an attempt]: number of attempts with lower upper bits */
	uint32_t *buckets;
};

/* Mark the frames of all stacks in @weights as used. */
void server_tree_use(struct server_tree *server, const struct server_weights *weights);

/*
 * Weights of all servers, collected before they are added to the tree. To begin, set @units
 * (borrowed) and @unit_count, and everything else to zero. All weights' indices of units must be
 * below @unit_count.
 */
struct server_sums {
	const struct server_unit *units;
	unsigned unit_count;
	/* true: also add a sample of its run per weight */
	bool has_runs;
	struct bytes parts; /* struct part; private */
	uint64_t weight;    /* sum of all weights, before scaling */
	/* the part of @weight whose stack or frame the server did not send */
	uint64_t unknown;
};

/*
 * Find the stacks of @weights in @tree (the same tree in each call) and append the weights to
 * @sums. Call this after named_frames_ask(). @weights is borrowed until server_sums_add(). A stack
 * with a missing ancestor or frame becomes "[unknown stack]". Returns 0, -EPROTO (damaged) or
 * -ENOMEM.
 */
int server_tree_add_weights(struct server_tree *server, struct server_weights *weights,
	struct calltree *tree, struct server_sums *sums);
void server_weights_release(struct server_weights *weights);

/* Add all collected weights to @tree. Returns 0, -EPROTO (damaged), -EOVERFLOW or -ENOMEM. */
int server_sums_add(struct server_sums *sums, struct calltree *tree);
void server_sums_release(struct server_sums *sums);

void server_tree_release(struct server_tree *server);

#endif
