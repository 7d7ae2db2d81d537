/* SPDX-License-Identifier: MIT */
/*
 * Threads that only wait where they always wait, as those of pools and event loops do: their stacks
 * get one frame above them that says how many there are, so that a picture can show them as one
 * box.
 *
 * A stack in which a thread spends more than half of its time is found without a table of all its
 * stacks, by a weighted vote (Boyer and Moore 1981): what weighs more than everything else together
 * is what the vote is left with. A second look at the samples tells what it really weighs.
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
	uint64_t voted;	  /* what is left of the vote for @stack */
	uint64_t waiting; /* in @stack */
	uint32_t stack;	  /* a node */
	bool is_idle;
};

struct idle {
	struct pass *pass;
	struct thread_time *threads; /* those that have names: others are nobody's */
	uint32_t *process; /* [node] -> the node of its process's frame, the root without one */
	uint32_t *count;   /* [such node] -> idle threads */
	uint64_t *rest;	   /* [node] -> weight that no sample accounts for, then that is not idle */
	uint64_t *weight;  /* [node] -> of idle threads */
	uint32_t *place;   /* [node] -> where that goes */
};

static int idle_init(struct idle *idle, struct pass *pass)
{
	uint32_t nodes = pass->nodes;

	*idle = (struct idle){
		.pass = pass,
		.threads = pass_array(calltree_threads(pass->from), sizeof(*idle->threads)),
		.process = pass_array(nodes, sizeof(*idle->process)),
		.count = pass_array(nodes, sizeof(*idle->count)),
		.rest = pass_weights(pass),
		.weight = pass_array(nodes, sizeof(*idle->weight)),
		.place = pass_array(nodes, sizeof(*idle->place)),
	};
	pass->placed = pass_array(calltree_samples(pass->from), sizeof(*pass->placed));
	return idle->threads && idle->process && idle->count && idle->rest && idle->weight &&
			       idle->place && pass->placed
		       ? 0
		       : -ENOMEM;
}

static void idle_release(struct idle *idle)
{
	free(idle->threads);
	free(idle->process);
	free(idle->count);
	free(idle->rest);
	free(idle->weight);
	free(idle->place);
}

/* Call @visit for each sample of a thread with a name, with what it has of its node's weight. */
static void for_each_sample(
	struct idle *idle, void (*visit)(struct idle *idle, struct thread_time *thread,
				   uint32_t node, uint64_t weight))
{
	const struct calltree *tree = idle->pass->from;

	for (uint32_t i = 0; i < idle->pass->nodes; i++)
		idle->rest[i] = pass_node(idle->pass, i)->self;
	for (size_t i = 0; i < calltree_samples(tree); i++) {
		const struct calltree_sample *sample = calltree_sample_at(tree, i);
		uint64_t weight = pass_subtract(sample, idle->rest);

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

/* What is not known may be anything, and who is ready to run does not want to wait. */
static bool waits_for_something(const struct pass *pass, uint32_t node)
{
	const char *module;

	if (!pass_is(pass, node, CALLTREE_WAIT))
		return false;
	module = calltree_frame_at(pass->from, pass_node(pass, node)->frame)->module;
	return *module && strcmp(module, "cpu");
}

/* Where all are, the picture is about just that: then none is. */
static void find_idle(struct idle *idle)
{
	bool is_any_busy = false;

	for (uint32_t i = 0; i < calltree_threads(idle->pass->from); i++) {
		struct thread_time *thread = &idle->threads[i];

		thread->is_idle = thread->all && waits_for_something(idle->pass, thread->stack) &&
				  thread->waiting * 100 >= thread->all * IDLE_SHARE_PERCENT &&
				  (thread->cpu <= IDLE_CPU_SAMPLES ||
					  thread->cpu * 100 <= thread->all * IDLE_CPU_PERCENT);
		is_any_busy |= thread->all && !thread->is_idle;
	}
	for (uint32_t i = 0; i < calltree_threads(idle->pass->from); i++) {
		struct thread_time *thread = &idle->threads[i];

		thread->is_idle &= is_any_busy;
		if (thread->is_idle)
			idle->count[idle->process[thread->stack]]++;
	}
}

/* Is what @thread has of @node's weight put below the frame? */
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

/* Of each process the frame that says how many there are. */
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
 * Both places of each node that has weight of its own or below it: @plain and @folded say which
 * have, and are filled from the leaves down.
 */
static void place_nodes(struct idle *idle, uint8_t *plain, uint8_t *folded)
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
			pass->place[i] = pass_child(pass, pass->place[parent], i);
		if (!folded[i])
			continue;
		if (idle->process[i] == i)
			idle->place[i] = add_frame(idle, i);
		else
			idle->place[i] = pass_child(pass, idle->place[parent], i);
	}
}

/* Also where nothing is folded: all nodes stay where they are then. */
static int place_all(struct idle *idle)
{
	struct pass *pass = idle->pass;
	uint8_t *plain = pass_array(pass->nodes, 1), *folded = pass_array(pass->nodes, 1);

	if (plain && folded)
		place_nodes(idle, plain, folded);
	for (size_t i = 0; plain && folded && i < calltree_samples(pass->from); i++) {
		const struct calltree_sample *sample = calltree_sample_at(pass->from, i);
		bool is_below = sample->thread < calltree_threads(pass->from) &&
				is_folded(idle, &idle->threads[sample->thread], sample->node);

		pass->placed[i] = is_below ? idle->place[sample->node] : pass->place[sample->node];
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
