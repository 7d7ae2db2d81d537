/* SPDX-License-Identifier: MIT */
/*
 * The part that all passes share: copy frames when they are first used; copy weights, samples and
 * lines to the new nodes that the pass chose for them.
 */
#include "render/pass.h"

#include <errno.h>
#include <stdlib.h>

#include "render/transform.h"

/* The value in pass.frames of an old frame that has not been copied yet. */
#define UNSET UINT32_MAX

void *pass_array(size_t count, size_t bytes)
{
	return calloc(count + 1, bytes);
}

const struct calltree_node *pass_node(const struct pass *pass, uint32_t node)
{
	return calltree_node_at(pass->from, node);
}

bool pass_is(const struct pass *pass, uint32_t node, enum calltree_frame_kind kind)
{
	return node != CALLTREE_ROOT &&
	       calltree_frame_at(pass->from, pass_node(pass, node)->frame)->kind == kind;
}

void pass_drop_address(struct pass *pass, struct calltree_frame *frame)
{
	(void)pass;
	frame->start_line = 0;
	frame->mapping = NULL;
	frame->offset = 0;
}

void pass_drop_source(struct pass *pass, struct calltree_frame *frame)
{
	pass_drop_address(pass, frame);
	frame->file = "";
	frame->line = 0;
}

uint32_t pass_frame(struct pass *pass, uint32_t number)
{
	if (pass->frames[number] == UNSET) {
		struct calltree_frame frame = *calltree_frame_at(pass->from, number);

		if (pass->rename)
			pass->rename(pass, &frame);
		pass->frames[number] = calltree_intern(pass->to, &frame);
	}
	return pass->frames[number];
}

uint32_t pass_child(struct pass *pass, uint32_t parent, uint32_t node)
{
	return calltree_child(pass->to, parent, pass_frame(pass, pass_node(pass, node)->frame));
}

static int pass_init(struct pass *pass, const struct transform_matcher *matcher)
{
	uint32_t frames = calltree_frames(pass->from);

	pass->nodes = calltree_nodes(pass->from);
	pass->to = calltree_new();
	pass->is_leaf = pass_array(pass->nodes, sizeof(*pass->is_leaf));
	pass->frames = pass_array(frames, sizeof(*pass->frames));
	pass->matches = pass_array(frames, sizeof(*pass->matches));
	pass->new_node = pass_array(pass->nodes, sizeof(*pass->new_node));
	if (!pass->to || !pass->is_leaf || !pass->frames || !pass->matches || !pass->new_node)
		return -ENOMEM;
	for (uint32_t i = 0; i < frames; i++) {
		pass->frames[i] = UNSET;
		pass->matches[i] = matcher && matcher->match(calltree_frame_at(pass->from, i),
						      matcher->context);
	}
	for (uint32_t i = 0; i < pass->nodes; i++)
		pass->is_leaf[i] = pass_node(pass, i)->self != 0;
	for (size_t i = 0; i < calltree_samples(pass->from); i++)
		pass->is_leaf[calltree_sample_at(pass->from, i)->node] = 1;
	return 0;
}

static void pass_release(struct pass *pass)
{
	free(pass->is_leaf);
	free(pass->frames);
	free(pass->matches);
	free(pass->new_node);
	free(pass->sample_node);
	free(pass->text);
	calltree_free(pass->to);
}

uint64_t pass_subtract(const struct calltree_sample *sample, uint64_t *weights)
{
	uint64_t *left = &weights[sample->node];
	uint64_t weight = sample->weight < *left ? sample->weight : *left;

	*left -= weight;
	return weight;
}

uint64_t *pass_weights(const struct pass *pass)
{
	uint64_t *left = pass_array(pass->nodes, sizeof(*left));

	for (uint32_t i = 0; left && i < pass->nodes; i++)
		left[i] = pass_node(pass, i)->self;
	return left;
}

/* Copy weights and samples to their new nodes; copy the names of threads. */
static int copy_weights(struct pass *pass)
{
	uint64_t *left = pass_weights(pass);

	if (!left)
		return -ENOMEM;
	for (size_t i = 0; i < calltree_samples(pass->from); i++) {
		struct calltree_sample sample = *calltree_sample_at(pass->from, i);

		if (pass->sample_node)
			calltree_add(pass->to, pass->sample_node[i], pass_subtract(&sample, left));
		sample.node =
			pass->sample_node ? pass->sample_node[i] : pass->new_node[sample.node];
		if (sample.node != PASS_NOWHERE)
			calltree_sample(pass->to, &sample);
	}
	for (uint32_t i = 0; i < pass->nodes; i++) {
		if (pass->new_node[i] == PASS_NOWHERE)
			pass->left_out += pass_is(pass, i, CALLTREE_WAIT) ? 0 : left[i];
		else if (left[i])
			calltree_add(pass->to, pass->new_node[i], left[i]);
	}
	for (uint32_t i = 0; i < calltree_threads(pass->from); i++) {
		const char *name = calltree_thread_at(pass->from, i);
		const char *process = calltree_process_at(pass->from, i);

		if (name)
			calltree_thread(pass->to, i, name, process ? process : "");
	}
	free(left);
	return 0;
}

/* Copy the lines of the frames that are in the new tree. */
static void copy_lines(struct pass *pass)
{
	size_t lines = pass->lines == PASS_LINES_LEAVE ? 0 : calltree_lines(pass->from);

	for (size_t i = 0; i < lines; i++) {
		struct calltree_line line = *calltree_line_at(pass->from, i);

		if (pass->lines == PASS_LINES_CPU)
			line.total -= line.waits, line.waits = 0;
		if (pass->lines == PASS_LINES_WAITS)
			line.total = line.waits, line.self = 0;
		line.frame = pass->frames[line.frame];
		if (line.frame != UNSET && line.total)
			calltree_add_line(pass->to, &line);
	}
}

int pass_run(const struct calltree *source, pass_fn *run, const struct transform_matcher *matcher,
	const struct transform_shape *shape, struct calltree **tree, uint64_t *left_out)
{
	struct pass pass = {.from = *tree ? *tree : source, .shape = shape, .matcher = matcher};
	int error = pass_init(&pass, matcher);

	if (!error)
		error = run(&pass);
	if (!error)
		error = copy_weights(&pass);
	if (!error)
		copy_lines(&pass);
	if (!error)
		error = calltree_finish(pass.to);
	if (!error) {
		calltree_free(*tree);
		*tree = pass.to;
		*left_out = pass.left_out;
		pass.to = NULL;
	}
	pass_release(&pass);
	return error;
}
