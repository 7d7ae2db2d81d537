/* SPDX-License-Identifier: MIT */
/*
 * Add the weights, stacks and frames that one server sent to a call tree. Answers are checked: each
 * stack must lead to the root within SERVER_DEPTH_MAX steps, so circles are refused. Context: one
 * thread.
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
	/* Owned. node[index of a stack]: node of the call tree; UINT32_MAX: none yet. */
	uint32_t *node;
	/* Owned. Scratch space for SERVER_DEPTH_MAX indices. */
	uint32_t *path;
	/* false: @node only marks stacks with weights; true: @node has indices of tree nodes */
	bool has_names;
};

/*
 * Index the rows of @stacks (stack, parent, frame: UInt64) and of @frames (see store_frame_read();
 * borrowed until the release). Returns 0, -EPROTO (damaged) or -ENOMEM.
 */
int server_tree_index(
	struct server_tree *server, const struct bytes *stacks, const struct bytes *frames);

/* A unit is a set of weights that can be added: of one run, and with one sampling period. */
struct server_unit {
	uint32_t run;
	uint64_t factor; /* of each weight */
};

/* The number of an attempt that was requested, and the index of the attempt's unit. */
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
	/* owned; buckets[i]: number of attempts whose upper 16 bits are less than i */
	uint32_t *buckets;
};

/* Call named_frames_use() for all frames on the stacks in @weights. */
void server_tree_use(struct server_tree *server, const struct server_weights *weights);

/*
 * This struct collects the weights of all servers before they are added to the tree. To begin, set
 * @units (borrowed) and @unit_count, and everything else to zero. Each index of a unit must be less
 * than @unit_count.
 */
struct server_sums {
	const struct server_unit *units;
	unsigned unit_count;
	/* true: for each weight also add a sample, whose thread is the number of the run */
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
