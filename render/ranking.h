/* SPDX-License-Identifier: MIT */
/*
 * What weighs most in a call tree: functions by themselves and with all that they call, who calls
 * one and whom it calls, and the heaviest way down. Every number that is said of functions, on
 * stderr, by `flamerun top` and in files, is computed here.
 *
 * A function is what has one name in one module: inlined here and called there, on whichever line,
 * it is one. Its number is its place by name, so that equal trees give equal rows.
 *
 * Context: one thread.
 */
#ifndef RENDER_RANKING_H
#define RENDER_RANKING_H

#include <stdbool.h>
#include <stdint.h>

#include "render/calltree.h"

struct ranking {
	const struct calltree *tree;
	struct preorder preorder;
	uint32_t functions;
	uint32_t *function_at; /* [position] -> that of the node there; of the root ->functions */
	uint32_t *frame_of;    /* [function] -> a frame of it, called rather than inlined */
};

/* Instead of a function: the caller of those that stand at the root. */
#define RANKING_NO_FUNCTION UINT32_MAX

struct ranking_row {
	uint32_t function;
	uint64_t self;	/* weight of the stacks that end in it */
	uint64_t total; /* of those that have it, each once however often it recurs */
};

/* From malloc. */
struct ranking_rows {
	struct ranking_row *at;
	uint32_t count;
};

/* Number the functions of @tree (finished, borrowed). Returns 0, or -ENOMEM, nothing to release. */
int ranking_init(struct ranking *ranking, const struct calltree *tree);
void ranking_release(struct ranking *ranking); /* all zero is fine */

/* The frame of a @function of @ranking, for its name, module and kind. */
const struct calltree_frame *ranking_frame(const struct ranking *ranking, uint32_t function);

/*
 * The functions at and above @node (CALLTREE_ROOT: all) that weigh something, by self, then total,
 * then name. Roots that are processes, threads or idle ones are none unless stacks end in them.
 * Returns 0 and *@rows, or -ENOMEM. To be freed.
 */
int ranking_of(const struct ranking *ranking, uint32_t node, struct ranking_rows *rows);

/* Order @rows by total instead, then self, then name. */
void ranking_sort_by_total(struct ranking_rows *rows);

/*
 * Those that call @function or, with @is_below, that it calls: their total is the weight of the
 * stacks in which the one calls the other, each once, their self nothing. By total. Likewise.
 */
int ranking_neighbours(
	const struct ranking *ranking, uint32_t function, bool is_below, struct ranking_rows *rows);

/*
 * From the root on what weighs most, by name where two weigh the same, down to where that is less
 * than @percent of everything: self and total are those of each place. Likewise, in that order.
 */
int ranking_path(const struct ranking *ranking, unsigned percent, struct ranking_rows *rows);

#endif
