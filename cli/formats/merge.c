/* SPDX-License-Identifier: MIT */
/*
 * Frames and nodes are copied by what they hold, so that equal ones meet. What threads have of a
 * node is kept as a list that is sorted and added up whenever it is full.
 */
#include "cli/formats/merge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S    1e9
#define SHARES_ROOM 1024

#define UNSET UINT32_MAX

/* ---- threads --------------------------------------------------------------------------------- */

static int by_node_and_thread(const void *left, const void *right)
{
	const struct merge_share *a = left, *b = right;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static void add_up_shares(struct merge *merge)
{
	struct merge_share *shares = merge->shares;
	size_t kept = 0;

	if (!merge->share_count)
		return;
	qsort(shares, merge->share_count, sizeof(*shares), by_node_and_thread);
	for (size_t i = 1; i < merge->share_count; i++) {
		if (by_node_and_thread(&shares[kept], &shares[i]))
			shares[++kept] = shares[i];
		else
			shares[kept].weight += shares[i].weight;
	}
	merge->share_count = kept + 1;
}

/* Room is made where adding up leaves less than half. */
static int add_share(struct merge *merge, uint32_t node, uint32_t thread, uint64_t weight)
{
	if (merge->share_count == merge->share_room)
		add_up_shares(merge);
	if (2 * merge->share_count >= merge->share_room) {
		size_t room = merge->share_room ? 2 * merge->share_room : SHARES_ROOM;
		struct merge_share *shares = reallocarray(merge->shares, room, sizeof(*shares));

		if (!shares)
			return -ENOMEM;
		merge->shares = shares;
		merge->share_room = room;
	}
	merge->shares[merge->share_count++] = (struct merge_share){node, thread, weight};
	return 0;
}

/* Threads of one name and number in processes of one name and number are one. */
static int find_thread(struct merge *merge, const char *name, const char *process, uint32_t *thread)
{
	uint32_t known = merge->threads.count;
	int error = texts_add(&merge->threads, name, process, strlen(process), thread);

	if (!error && *thread == known)
		calltree_thread(merge->sum.tree, *thread, name, process);
	return error;
}

static int copy_threads(
	struct merge *merge, const struct calltree *from, const uint32_t *place, uint64_t factor)
{
	uint32_t threads = calltree_threads(from);
	uint32_t *thread_of = calloc((size_t)threads + 1, sizeof(*thread_of));
	int error = thread_of ? 0 : -ENOMEM;

	for (uint32_t i = 0; !error && i < threads; i++) {
		const char *name = calltree_thread_at(from, i);
		const char *process = calltree_process_at(from, i);

		thread_of[i] = UNSET;
		if (name)
			error = find_thread(merge, name, process ? process : "", &thread_of[i]);
	}
	for (size_t i = 0; !error && i < calltree_samples(from); i++) {
		const struct calltree_sample *sample = calltree_sample_at(from, i);

		merge->had_times |= sample->time_ns != 0;
		if (sample->thread < threads && thread_of[sample->thread] != UNSET)
			error = add_share(merge, place[sample->node], thread_of[sample->thread],
				sample->weight * factor);
	}
	free(thread_of);
	return error;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static uint32_t copy_frame(
	struct calltree *to, const struct calltree *from, uint32_t number, uint32_t *frame_of)
{
	const struct calltree_frame *frame = calltree_frame_at(from, number);

	if (frame_of[number] == UNSET)
		frame_of[number] = calltree_frame_line(
			to, frame->name, frame->module, frame->kind, frame->file, frame->line);
	return frame_of[number];
}

/* Each node's place into @place. */
static void copy_nodes(struct calltree *to, const struct calltree *from, const char *root,
	uint64_t factor, uint32_t *place, uint32_t *frame_of)
{
	place[CALLTREE_ROOT] = CALLTREE_ROOT;
	if (root)
		place[CALLTREE_ROOT] = calltree_child(
			to, CALLTREE_ROOT, calltree_frame(to, root, "", CALLTREE_PROCESS));
	for (uint32_t i = 0; i < calltree_nodes(from); i++) {
		const struct calltree_node *node = calltree_node_at(from, i);

		if (i)
			place[i] = calltree_child(to, place[node->parent],
				copy_frame(to, from, node->frame, frame_of));
		if (node->self)
			calltree_add(to, place[i],
				node->self > UINT64_MAX / factor ? UINT64_MAX
								 : node->self * factor);
	}
}

static void copy_lines(
	struct calltree *to, const struct calltree *from, uint64_t factor, uint32_t *frame_of)
{
	for (size_t i = 0; i < calltree_lines(from); i++) {
		struct calltree_line line = *calltree_line_at(from, i);

		line.frame = copy_frame(to, from, line.frame, frame_of);
		line.self *= factor;
		line.total *= factor;
		line.waits *= factor;
		calltree_add_line(to, &line);
	}
}

/* @merge is NULL where threads are not wanted. Returns 0 or -errno. */
static int copy_tree(struct merge *merge, struct calltree *to, const struct calltree *from,
	const char *root, uint64_t factor)
{
	uint32_t frames = calltree_frames(from);
	uint32_t *place = calloc((size_t)calltree_nodes(from) + 1, sizeof(*place));
	uint32_t *frame_of = malloc(((size_t)frames + 1) * sizeof(*frame_of));
	int error = place && frame_of ? 0 : -ENOMEM;

	if (!error) {
		memset(frame_of, 0xff, ((size_t)frames + 1) * sizeof(*frame_of));
		copy_nodes(to, from, root, factor, place, frame_of);
		copy_lines(to, from, factor, frame_of);
		error = calltree_error(to);
	}
	if (!error && merge)
		error = copy_threads(merge, from, place, factor);
	free(place);
	free(frame_of);
	/* Adds lines up, which are as many as there are in all otherwise. */
	return error ? error : calltree_finish(to);
}

/* ---- units ----------------------------------------------------------------------------------- */

/* Which time it is; "" for none. */
static const char *time_of(const struct input_facts *facts)
{
	return !facts->period_ns ? "" : facts->time_name[0] ? facts->time_name : "cpu";
}

static const char *count_of(const struct input_facts *facts)
{
	return facts->count_name[0] ? facts->count_name : "samples";
}

static int refuse_units(
	const struct merge *merge, const struct input *input, struct diag_message *message)
{
	const struct input_facts *sum = &merge->sum.facts, *facts = &input->facts;
	const char *is = *time_of(facts) ? time_of(facts) : count_of(facts);
	const char *was = *time_of(sum) ? time_of(sum) : count_of(sum);

	diag_fail(message, -EINVAL,
		"cannot add '%s', which counts %s%s, to '%s', which counts %s%s", input->name,
		*time_of(facts) ? "time: " : "", is, merge->sum.name, *time_of(sum) ? "time: " : "",
		was);
	diag_fail_hint(message, "as folded stacks both count samples: flamerun render FILE -o "
				"FILE.folded");
	return -EINVAL;
}

/* How much one of @input's units is of the sum's, which may change for that. */
static int match_units(struct merge *merge, const struct input *input, uint64_t *factor,
	struct diag_message *message)
{
	struct input_facts *sum = &merge->sum.facts;
	const struct input_facts *facts = &input->facts;

	*factor = 1;
	if (strcmp(time_of(sum), time_of(facts)) ||
		(!*time_of(sum) && strcmp(count_of(sum), count_of(facts))))
		return refuse_units(merge, input, message);
	if (sum->period_ns == facts->period_ns)
		return 0;
	if (sum->period_ns != 1) {
		diag_info("'%s' was sampled at another rate: times are added in nanoseconds",
			input->name);
		calltree_scale(merge->sum.tree, sum->period_ns);
		calltree_scale(merge->sum.other, sum->period_ns);
		for (size_t i = 0; i < merge->share_count; i++)
			merge->shares[i].weight *= sum->period_ns;
	}
	*factor = facts->period_ns;
	sum->period_ns = 1;
	strcpy(sum->count_name, "nanoseconds");
	return 0;
}

/* ---- facts ----------------------------------------------------------------------------------- */

static void begin_facts(struct merge *merge, const struct input *input)
{
	struct input_facts *sum = &merge->sum.facts;

	*sum = input->facts;
	sum->marks = NULL;
	sum->mark_count = 0;
	sum->has_view = false;
	sum->spread = NULL;
	sum->ranks = NULL;
	sum->empty[0] = '\0';
	sum->other_name[0] = '\0';
	merge->sum.path = merge->sum.name = input->name;
}

static void add_facts(struct merge *merge, const struct input *input)
{
	struct input_facts *sum = &merge->sum.facts;
	const struct input_facts *facts = &input->facts;

	merge->had_other_titles |= strcmp(sum->title, facts->title) != 0;
	merge->had_other_filters |= strcmp(sum->filters, facts->filters) != 0;
	if (facts->filters[0] && !sum->filters[0])
		snprintf(sum->filters, sizeof(sum->filters), "%.200s", facts->filters);
	if (strcmp(sum->notes, facts->notes))
		sum->notes[0] = '\0';
	/* As `go tool pprof` has it: the sum of what runs took, since the first of them. */
	if (__builtin_add_overflow(sum->duration_ns, facts->duration_ns, &sum->duration_ns))
		sum->duration_ns = 0;
	if (facts->created_s && (!sum->created_s || facts->created_s < sum->created_s))
		sum->created_s = facts->created_s;
}

/* "3 files: 1200 samples, 6.09 s of cpu in 7.10 s" */
static void write_subtitle(struct merge *merge)
{
	struct input_facts *sum = &merge->sum.facts;
	uint64_t waits = calltree_waits(merge->sum.tree);
	uint64_t weight = calltree_total(merge->sum.tree) - waits;
	size_t room = sizeof(sum->subtitle);
	size_t at = (size_t)snprintf(sum->subtitle, room, "%u %s%s: %s%s", merge->files,
		merge->part ? merge->part : "file", merge->files == 1 ? "" : "s", sum->filters,
		sum->filters[0] ? " of " : "");

	if (sum->period_ns != 1)
		at += (size_t)snprintf(sum->subtitle + at, room - at, "%" PRIu64 " %s%s", weight,
			count_of(sum), sum->period_ns ? ", " : "");
	if (sum->period_ns)
		at += (size_t)snprintf(sum->subtitle + at, room - at, "%.2f s of %s",
			(double)weight * (double)sum->period_ns / NS_PER_S, time_of(sum));
	if (waits)
		at += (size_t)snprintf(sum->subtitle + at, room - at, ", and %.2f s of waiting",
			(double)waits * (double)sum->period_ns / NS_PER_S);
	if (sum->duration_ns)
		snprintf(sum->subtitle + at, room - at, " in %.2f s",
			(double)sum->duration_ns / NS_PER_S);
}

static void report_lost(const struct merge *merge)
{
	if (merge->had_times)
		diag_info("when samples were taken is left out: each run has a clock of its own");
	if (merge->marks)
		diag_info("%" PRIu64 " mark%s left out: each run has a clock of its own",
			merge->marks, merge->marks == 1 ? " is" : "s are");
	if (merge->had_other_filters)
		diag_info(
			"not all files had the same left out: '%s' holds for a part of the stacks",
			merge->sum.facts.filters);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Time of another kind, where it is of one kind in all files. */
static int add_other(
	struct merge *merge, const struct input *input, const char *root, uint64_t factor)
{
	char *name = merge->sum.facts.other_name;

	if (!calltree_total(input->other))
		return 0;
	if (*name && strcmp(name, input->facts.other_name)) {
		diag_info("'%s': time of the kind %s is left out", input->name,
			input->facts.other_name);
		return 0;
	}
	strcpy(name, input->facts.other_name);
	return copy_tree(NULL, merge->sum.other, input->other, root, factor);
}

int merge_add(struct merge *merge, const struct input *input, const char *root,
	struct diag_message *message)
{
	uint64_t factor = 1;
	int error = 0;

	if (!merge->files++) {
		merge->sum.tree = calltree_new();
		merge->sum.other = calltree_new();
		error = merge->sum.tree && merge->sum.other ? 0 : -ENOMEM;
	}
	/* What is empty counts nothing, whatever it would have counted. */
	if (!error && !calltree_total(merge->sum.tree)) {
		begin_facts(merge, input);
	} else if (!error && calltree_total(input->tree)) {
		error = match_units(merge, input, &factor, message);
		if (error)
			return error;
		add_facts(merge, input);
	}
	if (!error)
		error = copy_tree(merge, merge->sum.tree, input->tree, root, factor);
	if (!error)
		error = add_other(merge, input, root, factor);
	merge->marks += input->facts.mark_count;
	return error ? diag_fail(
			       message, error, "cannot add '%s': %s", input->name, strerror(-error))
		     : 0;
}

/*
 * A sample of the tree holds 32 bits of a weight. A forged file may say more of threads than there
 * is of a stack.
 */
static void put_samples(struct merge *merge)
{
	struct calltree *tree = merge->sum.tree;
	uint64_t left = 0;

	add_up_shares(merge);
	for (size_t i = 0; i < merge->share_count && !calltree_error(tree); i++) {
		const struct merge_share *share = &merge->shares[i];
		const struct calltree_node *node = calltree_node_at(tree, share->node);
		bool waits = share->node != CALLTREE_ROOT &&
			     calltree_frame_at(tree, node->frame)->kind == CALLTREE_WAIT;
		uint64_t weight = share->weight;

		if (!i || share->node != share[-1].node)
			left = node->self;
		if (weight > left)
			weight = left;
		left -= weight;
		for (; weight; weight -= weight > UINT32_MAX ? UINT32_MAX : weight)
			calltree_sample(
				tree, &(struct calltree_sample){.node = share->node,
					      .weight = weight > UINT32_MAX ? UINT32_MAX
									    : (uint32_t)weight,
					      .thread = share->thread,
					      .kind = waits ? CALLTREE_WAITING : CALLTREE_ON_CPU});
	}
}

int merge_end(struct merge *merge, struct input *out, struct diag_message *message)
{
	int error;

	put_samples(merge);
	error = calltree_finish(merge->sum.tree);
	if (!error)
		error = calltree_finish(merge->sum.other);
	if (error)
		return diag_fail(message, error, "cannot merge: %s", strerror(-error));
	if (merge->had_other_titles)
		snprintf(merge->sum.facts.title, sizeof(merge->sum.facts.title), "%u files",
			merge->files);
	write_subtitle(merge);
	report_lost(merge);
	*out = merge->sum;
	merge->sum = (struct input){.path = NULL};
	return 0;
}

void merge_release(struct merge *merge)
{
	input_release(&merge->sum);
	texts_release(&merge->threads);
	free(merge->shares);
	*merge = (struct merge){.files = 0};
}
