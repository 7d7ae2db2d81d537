/* SPDX-License-Identifier: MIT */
/*
 * Trees made from trees, before anything is drawn: other merges, frames left out, another root.
 * The source is never changed. Times and threads of the samples are carried over.
 */
#ifndef RENDER_TRANSFORM_H
#define RENDER_TRANSFORM_H

#include <stdint.h>

#include "render/calltree.h"

/* Decides about one frame. Returns non-zero for yes. */
typedef int transform_match_fn(const struct calltree_frame *frame, void *context);

/* What to do with @tree, in this order. Zero-initialise for "nothing". */
struct transform_options {
	transform_match_fn *root; /* stacks begin at the first (outermost) frame that matches; those
				     without one leave */
	void *root_context;
	transform_match_fn
		*hide; /* matching frames leave; what they called moves up to their caller */
	void *hide_context;
	int by_thread; /* a root frame for each thread, by the samples; weight without a
			  sample's time goes to the thread it is known for, else to none */
	int reverse;   /* merged from the leaf: callees become roots; with by_thread,
			  below the root frame of their thread, which stays */
};

/*
 * @tree is borrowed for the call, and so are the contexts. Returns 0 and an owned, finished tree in
 * *@out, with the weight of the samples that became empty or had no root in *@left_out: that and
 * the new tree's total are @tree's total. Frames that are in no stack any more are not in it.
 * Otherwise -ENOMEM, or what poisoned the new tree, see calltree_error(); nothing is written then.
 */
int transform_tree(const struct calltree *tree, const struct transform_options *options,
	struct calltree **out, uint64_t *left_out);

#endif
