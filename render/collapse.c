/* SPDX-License-Identifier: MIT */
/*
 * Fold recursion: a function that occurs several times in a stack becomes one frame, which gets the
 * callees of all its calls.
 */
#include "render/pass.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/*
 * Build the new tree depth first. Several old nodes can be merged into one new node. When the walk
 * is at a new node, it takes each old node that was merged into it, and places the children of that
 * old node. A child gets a new node below the current one. But if the child's function is already
 * on the path to the current node, the child is merged into that function's node on the path. The
 * walk returns to every node on the path, so the children of such a late addition are placed then.
 * Each old node is placed once, so the time is linear.
 */
struct collapse {
	/* [old node] -> its first child; [old node] -> its next sibling */
	uint32_t *first, *next;
	/* numbers functions: an inlined and a called frame of a function get the same number */
	struct calltree *names;
	uint32_t *functions; /* [old frame] -> function */
	uint32_t *function;  /* [new node] -> function */
	/* [function] -> its new node on the current path, or 0 */
	uint32_t *on_path;
	/* [new node] -> first old node placed there whose children are not placed yet, or 0 */
	uint32_t *todo;
	uint32_t *todo_next; /* [old node] -> next node in the list that begins in @todo */
	/* [new node] -> first child that the walk has not entered yet, or 0 */
	uint32_t *below;
	uint32_t *below_next; /* [new node] -> next node in the list that begins in @below */
};

static int collapse_init(struct collapse *collapse, const struct pass *pass)
{
	uint32_t nodes = pass->nodes, frames = calltree_frames(pass->from);

	*collapse = (struct collapse){
		.first = pass_array(nodes, sizeof(uint32_t)),
		.next = pass_array(nodes, sizeof(uint32_t)),
		.names = calltree_new(),
		.functions = pass_array(frames, sizeof(uint32_t)),
		.function = pass_array(nodes, sizeof(uint32_t)),
		.on_path = pass_array(frames, sizeof(uint32_t)),
		.todo = pass_array(nodes, sizeof(uint32_t)),
		.todo_next = pass_array(nodes, sizeof(uint32_t)),
		.below = pass_array(nodes, sizeof(uint32_t)),
		.below_next = pass_array(nodes, sizeof(uint32_t)),
	};
	if (!collapse->first || !collapse->next || !collapse->names || !collapse->functions ||
		!collapse->function || !collapse->on_path || !collapse->todo ||
		!collapse->todo_next || !collapse->below || !collapse->below_next)
		return -ENOMEM;
	for (uint32_t i = 0; i < frames; i++) {
		const struct calltree_frame *frame = calltree_frame_at(pass->from, i);

		collapse->functions[i] = calltree_frame(collapse->names, frame->name, frame->module,
			frame->kind == CALLTREE_INLINE ? CALLTREE_NATIVE : frame->kind);
	}
	for (uint32_t i = nodes - 1; i > 0; i--) {
		uint32_t parent = pass_node(pass, i)->parent;

		collapse->next[i] = collapse->first[parent];
		collapse->first[parent] = i;
	}
	return calltree_error(collapse->names);
}

static void collapse_release(struct collapse *collapse)
{
	free(collapse->first);
	free(collapse->next);
	calltree_free(collapse->names);
	free(collapse->functions);
	free(collapse->function);
	free(collapse->on_path);
	free(collapse->todo);
	free(collapse->todo_next);
	free(collapse->below);
	free(collapse->below_next);
}

/*
 * Is @frame a function? A name in brackets, such as "[futex]", is not: it stands for many places in
 * the code, so two such frames are not a recursion.
 */
static bool is_function(const struct calltree_frame *frame)
{
	return frame->kind == CALLTREE_NATIVE || frame->kind == CALLTREE_JIT ||
	       frame->kind == CALLTREE_INLINE ||
	       (frame->kind == CALLTREE_UNNAMED && *frame->module);
}

/* Place old node @node, whose parent was placed at new node @at. */
static void place_collapsed(
	struct pass *pass, struct collapse *collapse, uint32_t at, uint32_t node)
{
	uint32_t function = collapse->functions[pass_node(pass, node)->frame];
	uint32_t to = collapse->on_path[function];

	if (!to) {
		to = pass_child(pass, at, node);
		collapse->function[to] = function;
		if (!collapse->todo[to]) {
			collapse->below_next[to] = collapse->below[at];
			collapse->below[at] = to;
		}
	}
	pass->new_node[node] = to;
	collapse->todo_next[node] = collapse->todo[to];
	collapse->todo[to] = node;
}

static void place_children(struct pass *pass, struct collapse *collapse, uint32_t at, uint32_t node)
{
	for (uint32_t i = collapse->first[node]; i; i = collapse->next[i])
		place_collapsed(pass, collapse, at, i);
}

static void collapse_walk(struct pass *pass, struct collapse *collapse)
{
	uint32_t at = CALLTREE_ROOT;

	place_children(pass, collapse, at, CALLTREE_ROOT);
	while (!calltree_error(pass->to)) {
		uint32_t node = collapse->todo[at], below = collapse->below[at];

		if (node) {
			collapse->todo[at] = collapse->todo_next[node];
			place_children(pass, collapse, at, node);
		} else if (below) {
			collapse->below[at] = collapse->below_next[below];
			at = below;
			if (is_function(calltree_frame_at(
				    pass->to, calltree_node_at(pass->to, at)->frame)))
				collapse->on_path[collapse->function[at]] = at;
		} else if (at != CALLTREE_ROOT) {
			if (collapse->on_path[collapse->function[at]] == at)
				collapse->on_path[collapse->function[at]] = 0;
			at = calltree_node_at(pass->to, at)->parent;
		} else {
			return;
		}
	}
}

int collapse_pass(struct pass *pass)
{
	struct collapse collapse;
	int error = collapse_init(&collapse, pass);

	if (!error)
		collapse_walk(pass, &collapse);
	collapse_release(&collapse);
	return error;
}
