/* SPDX-License-Identifier: MIT */
/*
 * Fold idle threads, such as those of pools and event loops: one CALLTREE_IDLE frame, which says
 * how many threads are idle, becomes the parent of their stacks, so that a picture can show them as
 * one box.
 *
 * The stack in which a thread spends most of its time is found without a table of all stacks, by a
 * weighted majority vote (Boyer and Moore 1981): if a stack weighs more than all others together,
 * that stack wins the vote. A second pass over the samples computes the winner's weight.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/pass.h"
#include "render/transform.h"

struct thread_time {
	uint64_t all, cpu;
	uint64_t voted;	  /* remaining votes for @stack */
	uint64_t waiting; /* weight of the thread's samples in @stack */
	uint32_t stack;	  /* node of the stack that leads the vote */
	bool is_idle;
};

struct idle {
	struct pass *pass;
	/* [thread number] -> the thread's times; threads without a name are not considered */
	struct thread_time *threads;
	/* [node] -> node of the process frame above it, or the root */
	uint32_t *process;
	/* [node of a process frame] -> number of idle threads of the process */
	uint32_t *count;
	/* [node] -> self weight minus the weights of the samples visited so far */
	uint64_t *unsampled;
	uint64_t *weight;      /* [node] -> weight that moves below the idle frame */
	uint32_t *folded_node; /* [node] -> new node for that weight */
};

static int idle_init(struct idle *idle, struct pass *pass)
{
	uint32_t nodes = pass->nodes;

	*idle = (struct idle){
		.pass = pass,
		.threads = pass_array(calltree_threads(pass->from), sizeof(*idle->threads)),
		.process = pass_array(nodes, sizeof(*idle->process)),
		.count = pass_array(nodes, sizeof(*idle->count)),
		.unsampled = pass_weights(pass),
		.weight = pass_array(nodes, sizeof(*idle->weight)),
		.folded_node = pass_array(nodes, sizeof(*idle->folded_node)),
	};
	pass->sample_node = pass_array(calltree_samples(pass->from), sizeof(*pass->sample_node));
	return idle->threads && idle->process && idle->count && idle->unsampled && idle->weight &&
			       idle->folded_node && pass->sample_node
		       ? 0
		       : -ENOMEM;
}

static void idle_release(struct idle *idle)
{
	free(idle->threads);
	free(idle->process);
	free(idle->count);
	free(idle->unsampled);
	free(idle->weight);
	free(idle->folded_node);
}

/*
 * Call @visit for each sample of a named thread. @weight is the sample's weight, but at most the
 * self weight of the node that no earlier sample has used.
 */
static void for_each_sample(
	struct idle *idle, void (*visit)(struct idle *idle, struct thread_time *thread,
				   uint32_t node, uint64_t weight))
{
	const struct calltree *tree = idle->pass->from;

	for (uint32_t i = 0; i < idle->pass->nodes; i++)
		idle->unsampled[i] = pass_node(idle->pass, i)->self;
	for (size_t i = 0; i < calltree_samples(tree); i++) {
		const struct calltree_sample *sample = calltree_sample_at(tree, i);
		uint64_t weight = pass_subtract(sample, idle->unsampled);

		if (sample->thread < calltree_threads(tree))
			visit(idle, &idle->threads[sample->thread], sample->node, weight);
	}
}

static void vote(struct idle *idle, struct thread_time *thread, uint32_t node, uint64_t weight)
{
	thread->all += weight;
	if (!pass_is(idle->pass, node, CALLTREE_WAIT))
		thread->cpu += weight;
	if (thread->stack == node) {
		thread->voted += weight;
	} else if (weight <= thread->voted) {
		thread->voted -= weight;
	} else {
		thread->voted = weight - thread->voted;
		thread->stack = node;
	}
}

static void weigh_stack(
	struct idle *idle, struct thread_time *thread, uint32_t node, uint64_t weight)
{
	(void)idle;
	if (thread->stack == node)
		thread->waiting += weight;
}

/*
 * Does the stack of @node wait for a known cause? Threads that are ready to run (module "cpu") are
 * not idle, and neither are those with an unknown cause ("").
 */
static bool waits_for_something(const struct pass *pass, uint32_t node)
{
	const char *module;

	if (!pass_is(pass, node, CALLTREE_WAIT))
		return false;
	module = calltree_frame_at(pass->from, pass_node(pass, node)->frame)->module;
	return *module && strcmp(module, "cpu");
}

/* Mark the idle threads. If all are idle, mark none, because the waits are then of interest. */
static void find_idle(struct idle *idle)
{
	bool has_busy = false;

	for (uint32_t i = 0; i < calltree_threads(idle->pass->from); i++) {
		struct thread_time *thread = &idle->threads[i];

		thread->is_idle = thread->all && waits_for_something(idle->pass, thread->stack) &&
				  thread->waiting * 100 >= thread->all * IDLE_SHARE_PERCENT &&
				  (thread->cpu <= IDLE_CPU_SAMPLES ||
					  thread->cpu * 100 <= thread->all * IDLE_CPU_PERCENT);
		has_busy |= thread->all && !thread->is_idle;
	}
	for (uint32_t i = 0; i < calltree_threads(idle->pass->from); i++) {
		struct thread_time *thread = &idle->threads[i];

		thread->is_idle &= has_busy;
		if (thread->is_idle)
			idle->count[idle->process[thread->stack]]++;
	}
}

/* Does @thread's weight in @node move below the idle frame? */
static bool is_folded(const struct idle *idle, const struct thread_time *thread, uint32_t node)
{
	return thread->is_idle && pass_is(idle->pass, node, CALLTREE_WAIT) &&
	       idle->process[node] == idle->process[thread->stack];
}

static void add_idle(struct idle *idle, struct thread_time *thread, uint32_t node, uint64_t weight)
{
	if (is_folded(idle, thread, node))
		idle->weight[node] += weight;
}

/* Add the CALLTREE_IDLE frame below the frame of @process. */
static uint32_t add_frame(struct idle *idle, uint32_t process)
{
	struct pass *pass = idle->pass;
	uint32_t count = idle->count[process];
	char name[64];

	snprintf(name, sizeof(name), "[idle: %u thread%s]", count, count == 1 ? "" : "s");
	return calltree_child(pass->to,
		process == CALLTREE_ROOT ? process : pass_child(pass, CALLTREE_ROOT, process),
		calltree_frame(pass->to, name, "", CALLTREE_IDLE));
}

/*
 * Set the new nodes of each old node: pass->new_node for weight that stays, idle->folded_node for
 * weight that moves below the idle frame. @plain marks the nodes whose subtree has weight that
 * stays, @folded the nodes whose subtree has weight that moves; both are filled from the leaves to
 * the root.
 */
static void position_nodes(struct idle *idle, uint8_t *plain, uint8_t *folded)
{
	struct pass *pass = idle->pass;

	for (uint32_t i = pass->nodes; i-- > 0;) {
		folded[i] |= idle->weight[i] != 0;
		plain[i] |= pass->is_leaf[i] &&
			    (!idle->weight[i] || pass_node(pass, i)->self > idle->weight[i]);
		if (i == CALLTREE_ROOT)
			break;
		folded[pass_node(pass, i)->parent] |= folded[i];
		plain[pass_node(pass, i)->parent] |= plain[i];
	}
	for (uint32_t i = 0; i < pass->nodes; i++) {
		uint32_t parent = i ? pass_node(pass, i)->parent : CALLTREE_ROOT;

		if (plain[i] && i)
			pass->new_node[i] = pass_child(pass, pass->new_node[parent], i);
		if (!folded[i])
			continue;
		if (idle->process[i] == i)
			idle->folded_node[i] = add_frame(idle, i);
		else
			idle->folded_node[i] = pass_child(pass, idle->folded_node[parent], i);
	}
}

/* Choose the new nodes of all weight and samples. If nothing is folded, the tree stays as it is. */
static int place_all(struct idle *idle)
{
	struct pass *pass = idle->pass;
	uint8_t *plain = pass_array(pass->nodes, 1), *folded = pass_array(pass->nodes, 1);

	if (plain && folded)
		position_nodes(idle, plain, folded);
	for (size_t i = 0; plain && folded && i < calltree_samples(pass->from); i++) {
		const struct calltree_sample *sample = calltree_sample_at(pass->from, i);
		bool is_below = sample->thread < calltree_threads(pass->from) &&
				is_folded(idle, &idle->threads[sample->thread], sample->node);

		pass->sample_node[i] =
			is_below ? idle->folded_node[sample->node] : pass->new_node[sample->node];
	}
	free(plain);
	free(folded);
	return plain && folded ? 0 : -ENOMEM;
}

int idle_pass(struct pass *pass)
{
	struct idle idle;
	int error = idle_init(&idle, pass);

	if (error)
		goto out;
	for (uint32_t i = 1; i < pass->nodes; i++) {
		uint32_t parent = pass_node(pass, i)->parent;

		idle.process[i] = parent == CALLTREE_ROOT && pass_is(pass, i, CALLTREE_PROCESS)
					  ? i
					  : idle.process[parent];
	}
	for_each_sample(&idle, vote);
	for_each_sample(&idle, weigh_stack);
	find_idle(&idle);
	for_each_sample(&idle, add_idle);
	error = place_all(&idle);
out:
	idle_release(&idle);
	return error;
}
