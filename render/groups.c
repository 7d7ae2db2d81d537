/* SPDX-License-Identifier: MIT */
/*
 * Root frames for processes and threads. A node whose samples are of several threads becomes
 * several nodes: one thread after the other is entered, and what it has samples of is placed below
 * it.
 */
#include "render/pass.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/transform.h"

/* Not a thread: what weight without one is put under. */
#define NO_THREAD UINT32_MAX

struct groups {
	struct pass *pass;
	uint32_t *at;	 /* [node] -> its place below the root frames at hand */
	uint32_t *epoch; /* [node] -> the round @at was made in */
	uint32_t round;	 /* counts the threads, from 1 */
	uint32_t *path;	 /* nodes from a leaf to the first one with a place */
	uint32_t root;	 /* new node that stands for the thread at hand, its process, or both */
	const char *process, *thread; /* that @root says; NULL: it says none */
	char number[32];	      /* what a thread without a name is called */
	uint64_t *rest;		      /* [node] -> weight that no sample accounts for */
	uint32_t *owner;    /* [node] -> root of its samples, PASS_NOWHERE when of several */
	uint8_t *has_owner; /* [node] -> it has samples */
	size_t *order;	    /* samples by thread, in their order within one */
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
		.rest = pass_weights(pass),
		.owner = pass_array(nodes, sizeof(uint32_t)),
		.has_owner = pass_array(nodes, 1),
		.order = pass_array(samples, sizeof(size_t)),
	};
	pass->placed = pass_array(samples, sizeof(*pass->placed));
	return groups->at && groups->epoch && groups->path && groups->rest && groups->owner &&
			       groups->has_owner && groups->order && pass->placed
		       ? 0
		       : -ENOMEM;
}

static void groups_release(struct groups *groups)
{
	free(groups->at);
	free(groups->epoch);
	free(groups->path);
	free(groups->rest);
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

/* Go below what @groups->root is by now. */
static void add_root(struct groups *groups, const char *name, enum calltree_frame_kind kind)
{
	struct calltree *to = groups->pass->to;

	groups->root = calltree_child(to, groups->root, calltree_frame(to, name, "", kind));
}

/* Begin with @thread: from here on its frames are the place of the root. */
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

/* Is @name what a root is called, @text, and no function could be? "worker (12/34)" */
static bool is_root_text(const char *text, const char *name)
{
	return text && strstr(text, " (") && !strcmp(text, name);
}

/*
 * Does the root at hand say what @node does, which is the outermost frame of its stacks, or below
 * such as are replaced? "sh" does, above the stacks of "sh (123)", and what is called as the root
 * is. By name and not by kind, for in files the frames of processes and threads are like others.
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

/* The place of @node below the root entered last. */
static uint32_t find_place(struct groups *groups, uint32_t node)
{
	struct pass *pass = groups->pass;
	size_t steps = 0;

	for (; groups->epoch[node] != groups->round; node = pass_node(pass, node)->parent)
		groups->path[steps++] = node;
	uint32_t place = groups->at[node];

	while (steps) {
		node = groups->path[--steps];
		if (place != groups->root || !is_replaced(groups, node))
			place = pass_child(pass, place, node);
		groups->at[node] = place;
		groups->epoch[node] = groups->round;
	}
	return place;
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
		pass->place[node] = pass->placed[number] = find_place(groups, node);
		pass_subtract(sample, groups->rest);
		groups->owner[node] = groups->has_owner[node] && groups->owner[node] != groups->root
					      ? PASS_NOWHERE
					      : groups->root;
		groups->has_owner[node] = 1;
	}
}

/*
 * By samples; weight that no sample accounts for goes where the others of its node are if they are
 * all below one root, else it stays without one.
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
		if (groups.rest[i] && (!groups.has_owner[i] || groups.owner[i] == PASS_NOWHERE))
			pass->place[i] = find_place(&groups, i);
out:
	groups_release(&groups);
	return error;
}
