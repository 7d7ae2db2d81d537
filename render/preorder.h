/* SPDX-License-Identifier: MIT */
/*
 * The one order everything is shown and stored in: depth first, siblings by name. It depends on
 * what the tree holds, not on the order it was built in.
 */
#ifndef RENDER_PREORDER_H
#define RENDER_PREORDER_H

#include <stdint.h>

#include "render/calltree.h"

struct preorder {
	uint32_t nodes; /* count, root included */
	uint32_t frames;
	uint32_t *order;    /* [position] -> node; [0] is the root */
	uint32_t *position; /* [node] -> position */
	uint32_t *end;	    /* [position] -> one past the last position below it */
	uint32_t *depth;    /* [position] -> 0 for the root */
	uint32_t *height;   /* [position] -> levels below it */
	uint32_t *rank;	    /* [frame] -> place among the frames by name, module, kind */
	uint32_t *by_rank;  /* [rank] -> frame */
};

/*
 * Order @tree (finished, borrowed for the call) into the caller's @preorder, in time linear in
 * nodes and without recursion. Returns 0, or -ENOMEM with *preorder released.
 */
int preorder_init(struct preorder *preorder, const struct calltree *tree);
void preorder_release(struct preorder *preorder);

#endif
