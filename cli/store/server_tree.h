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
	uint64_t weight;  /* that was added, in units of its rows */
	uint64_t unknown; /* of that, on stacks or frames that the server does not have */
};

/*
 * Take the rows of @stacks (stack, parent, frame UInt64) and @frames (as store_frame_read() has
 * them, borrowed as long as the object). Returns 0, -EPROTO for damage, -ENOMEM.
 */
int server_tree_take(
	struct server_tree *server, const struct bytes *stacks, const struct bytes *frames);

/* Mark the frames of @weights (unit UInt32, stack, weight UInt64) as used. */
void server_tree_use(struct server_tree *server, const struct bytes *weights);

/* What a unit of weights means. */
struct server_unit {
	uint32_t run;
	uint64_t factor; /* of its weights; 0: nobody asked for it */
};

/*
 * Add the rows of @weights to @tree, the same tree each time, once those that are used have their
 * names. @units: by their numbers, less than @count. @has_runs: each is a sample of its run, too.
 * What leads nowhere is added as "[unknown stack]".
 * Returns 0, -EPROTO for damage, -EOVERFLOW, -ENOMEM.
 */
int server_tree_add(struct server_tree *server, const struct bytes *weights,
	const struct server_unit *units, unsigned count, bool has_runs, struct calltree *tree);

void server_tree_release(struct server_tree *server);

#endif
