/* SPDX-License-Identifier: MIT */
/*
 * Add root frames for processes and threads. A node with samples of several threads becomes several
 * nodes: samples are placed thread by thread, below the root frames of the thread.
 */
#include "render/pass.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/transform.h"

/* used as the thread number of weight that belongs to no thread */
#define NO_THREAD UINT32_MAX

struct groups {
	struct pass *pass;
	/* [old node] -> its new node below the current root frames */
	uint32_t *at;
	/* [old node] -> the @round in which @at was set; @at is valid in that round only */
	uint32_t *epoch;
	uint32_t round; /* number of threads entered so far */
	/* old nodes from a leaf up to the first one with a valid @at */
	uint32_t *path;
	/* new node of the innermost current root frame, that of a thread or a process */
	uint32_t root;
	/* names of the current root frames; NULL if there is no such frame */
	const char *process, *thread;
	char number[32]; /* name for a thread that has none */
	/* [old node] -> self weight that is in no sample */
	uint64_t *unsampled;
	/* [old node] -> root frame of its samples; PASS_NOWHERE if they have several */
	uint32_t *owner;
	uint8_t *has_owner; /* [old node] -> 1 if it has samples */
	/* sample indices, sorted by thread and then by index */
	size_t *order;
};

static int groups_init(struct groups *groups, struct pass *pass)
{
	uint32_t nodes = pass->nodes;
	size_t samples = calltree_samples(pass->from);

	*groups = (struct groups){
		.pass = pass,
		.at = pass_array(nodes, sizeof(uint32_t)),
		.epoch = pass_array(nodes, sizeof(uint32_t)),
		.path = pass_array(nodes, sizeof(uint32_t)),
		.unsampled = pass_weights(pass),
		.owner = pass_array(nodes, sizeof(uint32_t)),
		.has_owner = pass_array(nodes, 1),
		.order = pass_array(samples, sizeof(size_t)),
	};
	pass->sample_node = pass_array(samples, sizeof(*pass->sample_node));
	return groups->at && groups->epoch && groups->path && groups->unsampled && groups->owner &&
			       groups->has_owner && groups->order && pass->sample_node
		       ? 0
		       : -ENOMEM;
}

static void groups_release(struct groups *groups)
{
	free(groups->at);
	free(groups->epoch);
	free(groups->path);
	free(groups->unsampled);
	free(groups->owner);
	free(groups->has_owner);
	free(groups->order);
}

static int compare_samples(const void *left, const void *right, void *data)
{
	const struct calltree *tree = data;
	size_t a = *(const size_t *)left, b = *(const size_t *)right;
	uint32_t thread_a = calltree_sample_at(tree, a)->thread;
	uint32_t thread_b = calltree_sample_at(tree, b)->thread;

	if (thread_a != thread_b)
		return thread_a < thread_b ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Add a frame below the current root. The new frame becomes the current root. */
static void add_root(struct groups *groups, const char *name, enum calltree_frame_kind kind)
{
	struct calltree *to = groups->pass->to;

	groups->root = calltree_child(to, groups->root, calltree_frame(to, name, "", kind));
}

/* Add the process and thread frames of @thread, and make the innermost of them the current root. */
static void enter_thread(struct groups *groups, uint32_t thread)
{
	const struct pass *pass = groups->pass;

	groups->root = CALLTREE_ROOT;
	groups->process = pass->shape->by_process ? calltree_process_at(pass->from, thread) : NULL;
	groups->thread = NULL;
	if (pass->shape->by_thread && thread != NO_THREAD) {
		snprintf(groups->number, sizeof(groups->number), "thread %u", thread);
		groups->thread = calltree_thread_at(pass->from, thread);
		if (!groups->thread)
			groups->thread = groups->number;
	}
	if (groups->process)
		add_root(groups, groups->process, CALLTREE_PROCESS);
	if (groups->thread)
		add_root(groups, groups->thread, CALLTREE_THREAD);
	groups->round++;
	groups->at[CALLTREE_ROOT] = groups->root;
	groups->epoch[CALLTREE_ROOT] = groups->round;
}

/*
 * Is @name equal to @text, the text of a root frame such as "worker (12/34)"? Texts without " ("
 * are rejected, because a function could have the same name.
 */
static bool is_root_text(const char *text, const char *name)
{
	return text && strstr(text, " (") && !strcmp(text, name);
}

/*
 * Do the current root frames replace the outermost frame @node? They do if @node has the name of
 * one of them, or if @node is "sh" and the process is "sh (123)". Names are compared and not kinds,
 * because in stacks from files the frames of processes and threads have the kind of functions.
 */
static bool is_replaced(const struct groups *groups, uint32_t node)
{
	const struct pass *pass = groups->pass;
	const struct calltree_frame *frame =
		calltree_frame_at(pass->from, pass_node(pass, node)->frame);
	size_t bytes = strlen(frame->name);

	if (*frame->module)
		return false;
	if (is_root_text(groups->thread, frame->name) || is_root_text(groups->process, frame->name))
		return true;
	return groups->process && pass_node(pass, node)->parent == CALLTREE_ROOT &&
	       !strncmp(groups->process, frame->name, bytes) &&
	       !strncmp(groups->process + bytes, " (", 2);
}

/* Returns the new node of old node @node below the current root frames; adds missing nodes. */
static uint32_t find_node(struct groups *groups, uint32_t node)
{
	struct pass *pass = groups->pass;
	size_t steps = 0;

	for (; groups->epoch[node] != groups->round; node = pass_node(pass, node)->parent)
		groups->path[steps++] = node;
	uint32_t new_node = groups->at[node];

	while (steps) {
		node = groups->path[--steps];
		if (new_node != groups->root || !is_replaced(groups, node))
			new_node = pass_child(pass, new_node, node);
		groups->at[node] = new_node;
		groups->epoch[node] = groups->round;
	}
	return new_node;
}

static void place_samples(struct groups *groups)
{
	struct pass *pass = groups->pass;
	size_t samples = calltree_samples(pass->from);

	for (size_t i = 0; i < samples; i++)
		groups->order[i] = i;
	qsort_r(groups->order, samples, sizeof(*groups->order), compare_samples,
		(void *)(uintptr_t)pass->from);
	for (size_t i = 0; i < samples; i++) {
		size_t number = groups->order[i];
		const struct calltree_sample *sample = calltree_sample_at(pass->from, number);
		uint32_t node = sample->node;

		if (!i || sample->thread !=
				  calltree_sample_at(pass->from, groups->order[i - 1])->thread)
			enter_thread(groups, sample->thread);
		pass->new_node[node] = pass->sample_node[number] = find_node(groups, node);
		pass_subtract(sample, groups->unsampled);
		groups->owner[node] = groups->has_owner[node] && groups->owner[node] != groups->root
					      ? PASS_NOWHERE
					      : groups->root;
		groups->has_owner[node] = 1;
	}
}

/*
 * Place each sample below the root frames of its thread. A node may also have self weight that is
 * in no sample. This weight goes below the root frames of the node's samples. If these samples have
 * different root frames, or if the node has no samples, it goes below no root frame.
 */
int groups_pass(struct pass *pass)
{
	struct groups groups;
	int error = groups_init(&groups, pass);

	if (error)
		goto out;
	place_samples(&groups);
	enter_thread(&groups, NO_THREAD);
	for (uint32_t i = 0; i < pass->nodes; i++)
		if (groups.unsampled[i] &&
			(!groups.has_owner[i] || groups.owner[i] == PASS_NOWHERE))
			pass->new_node[i] = find_node(&groups, i);
out:
	groups_release(&groups);
	return error;
}
