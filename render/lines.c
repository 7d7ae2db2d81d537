/* SPDX-License-Identifier: MIT */
/*
 * Make a coarse tree: merge the frames of a function that differ only in their address, then those
 * that differ only in their line, and put each line's weight into the new tree's table of lines.
 * With by_line, make the line part of the name instead. Also apply struct transform_sources, which
 * changes names and drops inlined frames.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/pass.h"
#include "render/transform.h"

/* ---- functions ------------------------------------------------------------------------------- */

static bool has_source(const struct calltree_frame *frame)
{
	return *frame->file || frame->line;
}

static bool has_address(const struct calltree_frame *frame)
{
	return frame->mapping || frame->start_line;
}

/* Append the source line to the frame's name: "name file.c:12". If out of memory, keep the name. */
static void name_line(struct pass *pass, struct calltree_frame *frame)
{
	const char *slash = strrchr(frame->file, '/');
	const char *file = slash && slash[1] ? slash + 1 : frame->file;

	free(pass->text);
	pass->text = NULL;
	if (frame->line && asprintf(&pass->text, "%s %s:%u", frame->name, *file ? file : "?",
				   frame->line) >= 0)
		frame->name = pass->text;
	pass_drop_source(pass, frame);
}

/* The weights of one frame of the old tree. */
struct weighed {
	uint64_t self; /* weight of the stacks that end in the frame */
	/* weight of the stacks that contain the frame, each counted once */
	uint64_t total;
	uint64_t waits; /* the part of @total in waiting stacks */
};

/* Set @frames, indexed by frame number and zeroed by the caller. Returns 0 or -ENOMEM. */
static int weigh_frames(const struct pass *pass, struct weighed *frames)
{
	/* [frame] -> position after the subtree in which the frame was last counted */
	uint32_t *within = pass_array(calltree_frames(pass->from), sizeof(*within));
	/* [node] -> weight of waits in its subtree */
	uint64_t *waits = pass_array(pass->nodes, sizeof(*waits));
	struct preorder preorder;
	int error = within && waits ? preorder_init(&preorder, pass->from) : -ENOMEM;

	for (uint32_t i = error ? 0 : pass->nodes - 1; i > 0; i--) {
		if (pass_is(pass, i, CALLTREE_WAIT))
			waits[i] = pass_node(pass, i)->total;
		waits[pass_node(pass, i)->parent] += waits[i];
	}
	for (uint32_t at = 1; !error && at < pass->nodes; at++) {
		const struct calltree_node *node = pass_node(pass, preorder.order[at]);

		frames[node->frame].self += node->self;
		if (at < within[node->frame])
			continue;
		frames[node->frame].total += node->total;
		frames[node->frame].waits += waits[preorder.order[at]];
		within[node->frame] = preorder.end[at];
	}
	if (!error)
		preorder_release(&preorder);
	free(waits);
	free(within);
	return error;
}

static int merge_lines(struct pass *pass)
{
	uint32_t count = calltree_frames(pass->from);
	struct weighed *frames = pass_array(count, sizeof(*frames));
	int error = frames ? weigh_frames(pass, frames) : -ENOMEM;

	for (uint32_t i = 1; !error && i < pass->nodes; i++)
		pass->new_node[i] = pass_child(pass, pass->new_node[pass_node(pass, i)->parent], i);
	for (uint32_t i = 0; !error && i < count; i++) {
		const struct calltree_frame *frame = calltree_frame_at(pass->from, i);

		if (has_source(frame) && frames[i].total)
			calltree_add_line(
				pass->to, &(struct calltree_line){.frame = pass_frame(pass, i),
						  .line = frame->line,
						  .file = frame->file,
						  .self = frames[i].self,
						  .total = frames[i].total,
						  .waits = frames[i].waits});
	}
	free(frames);
	return error;
}

static int function_pass(struct pass *pass)
{
	pass->rename = pass_drop_source;
	return merge_lines(pass);
}

static int line_pass(struct pass *pass)
{
	pass->rename = name_line;
	return merge_lines(pass);
}

static int address_pass(struct pass *pass)
{
	pass->rename = pass_drop_address;
	for (uint32_t i = 1; i < pass->nodes; i++)
		pass->new_node[i] = pass_child(pass, pass->new_node[pass_node(pass, i)->parent], i);
	return 0;
}

/* Returns whether @has is true of any frame of @tree. */
static bool any_frame(const struct calltree *tree, bool (*has)(const struct calltree_frame *frame))
{
	uint32_t frames = calltree_frames(tree), at = 0;

	while (at < frames && !has(calltree_frame_at(tree, at)))
		at++;
	return at < frames;
}

int transform_addresses(const struct calltree *tree, struct calltree **out)
{
	struct calltree *made = NULL;
	uint64_t none;
	int error = 0;

	if (any_frame(tree, has_address))
		error = pass_run(tree, address_pass, NULL, NULL, &made, &none);
	if (!error)
		*out = made;
	return error;
}

int transform_lines(const struct calltree *tree, bool by_line, struct calltree **out)
{
	struct calltree *made = NULL;
	uint64_t none;
	/* Merge addresses first, because a line's total counts each stack once. */
	int error = transform_addresses(tree, &made);

	if (!error && any_frame(tree, has_source))
		error = pass_run(
			tree, by_line ? line_pass : function_pass, NULL, NULL, &made, &none);
	if (error)
		calltree_free(made);
	else
		*out = made;
	return error;
}

/* ---- sources --------------------------------------------------------------------------------- */

/* Matches the frames that source_pass() drops (a transform_match_fn). */
static int is_unwanted(const struct calltree_frame *frame, void *context)
{
	const struct transform_sources *sources = context;

	return sources->no_inline && frame->kind == CALLTREE_INLINE;
}

static void map_file(struct pass *pass, struct calltree_frame *frame)
{
	const struct transform_sources *sources = pass->matcher->context;

	if (sources->map && *frame->file)
		frame->file = sources->map(frame->file, sources->context);
	if (sources->rename && (frame->kind == CALLTREE_NATIVE || frame->kind == CALLTREE_JIT ||
				       frame->kind == CALLTREE_INLINE))
		frame->name = sources->rename(frame->name, sources->rename_context);
}

/*
 * Give the weight of inlined frames to their parents. An inlined frame at the root stays, because
 * there is no parent frame.
 */
static int source_pass(struct pass *pass)
{
	pass->rename = map_file;
	for (uint32_t i = 1; i < pass->nodes; i++) {
		const struct calltree_node *node = pass_node(pass, i);
		uint32_t parent = pass->new_node[node->parent];

		pass->new_node[i] = parent != CALLTREE_ROOT && pass->matches[node->frame]
					    ? parent
					    : pass_child(pass, parent, i);
	}
	return 0;
}

int transform_sources(
	const struct calltree *tree, const struct transform_sources *sources, struct calltree **out)
{
	const struct transform_matcher matcher = {is_unwanted, (void *)(uintptr_t)sources};
	struct calltree *made = NULL;
	uint64_t none;
	int error = 0;

	if (sources->no_inline || sources->map || sources->rename)
		error = pass_run(tree, source_pass, &matcher, NULL, &made, &none);
	if (!error)
		*out = made;
	return error;
}
