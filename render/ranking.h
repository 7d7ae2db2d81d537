/* SPDX-License-Identifier: MIT */
/*
 * Rankings of a call tree: functions by self and total weight, callers and callees of a function,
 * and the heaviest path. All numbers about functions that flamerun prints (on stderr, in `flamerun
 * top`, in reports) are computed here.
 *
 * All frames with equal name and module are one function, inlined or not, on whatever line.
 * Functions are numbered in the order of their names, so that equal trees give equal rows.
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
	/* [preorder position] -> number of the node's function; for the root, @functions */
	uint32_t *function_at;
	/* [function] -> one of its frames, not an inlined one if possible */
	uint32_t *frame_of;
};

/* Used as the number of a function for the caller of the outermost frames, which is no function. */
#define RANKING_NO_FUNCTION UINT32_MAX

struct ranking_row {
	uint32_t function;
	/* weight of the samples whose leaf is the function */
	uint64_t self;
	/* weight of the stacks that contain the function, each counted once */
	uint64_t total;
};

/* Rows from malloc; the caller frees @at. */
struct ranking_rows {
	struct ranking_row *at;
	uint32_t count;
};

/* Number the functions of @tree (finished, borrowed until released). Returns 0 or -ENOMEM. */
int ranking_init(struct ranking *ranking, const struct calltree *tree);
void ranking_release(struct ranking *ranking); /* an all-zero struct is fine */

/* Returns one frame of @function, for its name, module and kind. */
const struct calltree_frame *ranking_frame(const struct ranking *ranking, uint32_t function);

/*
 * List the functions in the subtree of @node (CALLTREE_ROOT: all), sorted by self, total, name.
 * Process, thread and idle frames are listed only if they have self weight. Returns 0 with *@rows
 * owned by the caller, or -ENOMEM.
 */
int ranking_of(const struct ranking *ranking, uint32_t node, struct ranking_rows *rows);

/* Returns whether @frame belongs to a language that is interpreted or compiled at run time. */
typedef bool ranking_is_language_fn(const struct calltree_frame *frame);

/*
 * List all functions, sorted by self, total, name. The self weight of native code counts as self
 * weight of the innermost caller for which @is_language is true. Returns 0 with *@rows owned by the
 * caller, or -ENOMEM.
 */
int ranking_of_languages(const struct ranking *ranking, ranking_is_language_fn *is_language,
	struct ranking_rows *rows);

/* Sort @rows by total, self, name. */
void ranking_sort_by_total(struct ranking_rows *rows);

/*
 * List the callers of @function, or its callees if @is_below, sorted by total. A row's total is the
 * weight of the stacks that contain this call, each counted once; its self is 0. Returns 0 with
 * *@rows owned by the caller, or -ENOMEM.
 */
int ranking_neighbours(
	const struct ranking *ranking, uint32_t function, bool is_below, struct ranking_rows *rows);

/*
 * List the nodes of the path that goes from the root to the heaviest child, from there to its
 * heaviest child and so on (to the first by name if two are equal). The path ends before a node
 * that weighs less than @percent of the tree. A row's weights are those of its node. Returns 0 with
 * *@rows owned by the caller and in the order of the path, or -ENOMEM.
 */
int ranking_path(const struct ranking *ranking, unsigned percent, struct ranking_rows *rows);

#endif
