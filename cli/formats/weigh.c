/* SPDX-License-Identifier: MIT */
/*
 * Weights of the ranks in a file. A stack's parent has a smaller number, so one pass from the last
 * stack to the first computes the totals. A recursive function must count once, so its total is the
 * sum over its outermost stacks. These are found once per file, by a depth-first walk that counts
 * the occurrences of each function on the path.
 */
#include "cli/formats/weigh.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Marks of a stack: its function is none of its callers; it waits; it is inside MPI. */
enum {
	OUTERMOST = 1,
	WAITS = 2,
	IN_MPI = 4,
};

#define WEIGHT_MAX (1ull << 53) /* limit of calltree_add() */

static int name_functions(struct weigh *weigh)
{
	const struct ranks_file *file = weigh->file;
	uint32_t *of_frame = calloc((size_t)file->frame_count + 1, sizeof(*of_frame));

	weigh->names = calltree_new();
	weigh->function_of = calloc(file->stack_count, sizeof(*weigh->function_of));
	if (!of_frame || !weigh->names || !weigh->function_of) {
		free(of_frame);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < file->frame_count; i++)
		of_frame[i] = calltree_frame(weigh->names, file->texts[file->frames[i].name],
			file->texts[file->frames[i].module], CALLTREE_NATIVE);
	for (uint32_t i = 1; i < file->stack_count; i++)
		weigh->function_of[i] = of_frame[file->frame_of[i]];
	free(of_frame);
	return calltree_error(weigh->names);
}

/* ---- marking stacks -------------------------------------------------------------------------- */

/*
 * Does @stack's frame enter MPI? If an MPI interface function ends in a tail call, it has no frame.
 * Then the program seems to call an inner function of the library, so such a call counts, too. If
 * libc is the caller, the frame is only the start of a thread of the library.
 */
static bool enters_mpi(const struct ranks_file *file, uint32_t stack)
{
	const struct ranks_file_frame *frame = &file->frames[file->frame_of[stack]];
	uint32_t parent = file->parents[stack];

	return ranks_is_mpi(file->texts[frame->name]) ||
	       (parent && ranks_is_mpi_library(file->texts[frame->module]) &&
		       strncmp(file->texts[file->frames[file->frame_of[parent]].module], "libc.",
			       5));
}

static void mark_kinds(struct weigh *weigh)
{
	const struct ranks_file *file = weigh->file;

	for (uint32_t i = 1; i < file->stack_count; i++) {
		const struct ranks_file_frame *frame = &file->frames[file->frame_of[i]];

		weigh->marks[i] |= weigh->marks[file->parents[i]] & (IN_MPI | WAITS);
		if (frame->kind == CALLTREE_WAIT)
			weigh->marks[i] |= WAITS;
		if (!(weigh->marks[i] & IN_MPI) && enters_mpi(file, i))
			weigh->marks[i] |= IN_MPI;
	}
}

/*
 * Walk all stacks depth first and mark the outermost ones. @child and @sibling are [stack] -> first
 * child and next sibling, 0 for none. @open is [function] -> its occurrences on the path.
 */
static void mark_outermost(struct weigh *weigh, uint32_t *child, uint32_t *sibling, uint32_t *open)
{
	const struct ranks_file *file = weigh->file;
	uint32_t at = 0;

	for (uint32_t i = file->stack_count; i-- > 1;) {
		sibling[i] = child[file->parents[i]];
		child[file->parents[i]] = i;
	}
	for (;;) {
		if (at && !open[weigh->function_of[at]]++)
			weigh->marks[at] |= OUTERMOST;
		if (child[at]) {
			at = child[at];
			continue;
		}
		for (; at; at = file->parents[at]) {
			open[weigh->function_of[at]]--;
			if (sibling[at])
				break;
		}
		if (!at)
			return;
		at = sibling[at];
	}
}

static int mark_stacks(struct weigh *weigh)
{
	size_t stacks = weigh->file->stack_count;
	uint32_t *child = calloc(stacks, sizeof(*child));
	uint32_t *sibling = calloc(stacks, sizeof(*sibling));
	uint32_t *open = calloc((size_t)calltree_frames(weigh->names) + 1, sizeof(*open));
	int error = child && sibling && open ? 0 : -ENOMEM;

	if (!error) {
		mark_kinds(weigh);
		mark_outermost(weigh, child, sibling, open);
	}
	free(child);
	free(sibling);
	free(open);
	return error;
}

/* ---- one rank -------------------------------------------------------------------------------- */

static int add_stacks(struct weigh *weigh, struct ranks_one *one)
{
	bool draws_cpu = weigh->times != CALLTREE_TIMES_WAITS;
	bool draws_waits = weigh->times != CALLTREE_TIMES_CPU;
	struct ranks_file_walk walk = {.rank = weigh->file->ranks + (one - weigh->one)};
	uint64_t weight, all = 0;
	uint32_t stack;
	int more;

	while ((more = ranks_file_next(weigh->file, &walk, &stack, &weight)) > 0) {
		uint8_t marks = weigh->marks[stack];
		bool waits = marks & WAITS;

		if (weight > WEIGHT_MAX || (all += weight) > WEIGHT_MAX ||
			(weigh->self[stack] += weight) > WEIGHT_MAX)
			return -EOVERFLOW;
		*(waits ? &one->waits : &one->cpu) += weight;
		if (marks & IN_MPI)
			*(waits ? &one->waits_in_mpi : &one->cpu_in_mpi) += weight;
		if (!(waits ? draws_waits : draws_cpu))
			continue;
		weigh->total[stack] = weight;
		if (stack)
			weigh->function[weigh->function_of[stack]].self += weight;
	}
	return more;
}

static void add_functions(struct weigh *weigh, uint32_t rank)
{
	const struct ranks_file *file = weigh->file;
	uint32_t functions = calltree_frames(weigh->names);

	memset(weigh->in_function, 0, functions * sizeof(*weigh->in_function));
	for (uint32_t i = file->stack_count; i-- > 1;) {
		uint64_t total = weigh->total[i];

		weigh->total[i] = 0;
		weigh->total[file->parents[i]] += total;
		if (weigh->marks[i] & OUTERMOST)
			weigh->in_function[weigh->function_of[i]] += total;
	}
	weigh->total[0] = 0;
	for (uint32_t i = 0; i < functions; i++) {
		struct ranks_function *function = &weigh->function[i];
		uint64_t total = weigh->in_function[i];

		if (!total)
			continue;
		if (!function->ranks++ || total < function->least ||
			(total == function->least && rank < function->least_rank)) {
			function->least = total;
			function->least_rank = rank;
		}
		if (total > function->most ||
			(total == function->most && rank < function->most_rank)) {
			function->most = total;
			function->most_rank = rank;
		}
		function->sum += total;
	}
}

static int weigh_rank(struct weigh *weigh, uint32_t i)
{
	const struct ranks_file_rank *rank = &weigh->file->ranks[i];
	struct ranks_one *one = &weigh->one[i];
	int error;

	*one = (struct ranks_one){
		.number = rank->number,
		.status = rank->status,
		.signal = rank->signal,
		.has_ended = rank->state == RANK_ENDED,
		.duration_ns = rank->duration_ns,
	};
	error = add_stacks(weigh, one);
	if (!error && one->cpu + one->waits)
		add_functions(weigh, rank->number);
	return error;
}

int weigh_file(struct weigh *out, const struct ranks_file *file, enum calltree_times times)
{
	size_t stacks = file->stack_count, functions;
	int error;

	*out = (struct weigh){.file = file, .times = times};
	error = name_functions(out);
	if (error)
		return error;
	functions = (size_t)calltree_frames(out->names) + 1;
	out->self = calloc(stacks, sizeof(*out->self));
	out->total = calloc(stacks, sizeof(*out->total));
	out->marks = calloc(stacks, sizeof(*out->marks));
	out->in_function = calloc(functions, sizeof(*out->in_function));
	out->function = calloc(functions, sizeof(*out->function));
	out->one = calloc((size_t)file->rank_count + 1, sizeof(*out->one));
	if (!out->self || !out->total || !out->marks || !out->in_function || !out->function ||
		!out->one)
		return -ENOMEM;
	error = mark_stacks(out);
	for (uint32_t i = 0; !error && i < file->rank_count; i++)
		error = weigh_rank(out, i);
	return error;
}

void weigh_release(struct weigh *weigh)
{
	free(weigh->self);
	free(weigh->total);
	free(weigh->marks);
	free(weigh->in_function);
	free(weigh->function);
	free(weigh->one);
	free(weigh->function_of);
	calltree_free(weigh->names);
	*weigh = (struct weigh){.file = NULL};
}
