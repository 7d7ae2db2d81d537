/* SPDX-License-Identifier: MIT */
/*
 * In the sum's tree, equal frames of all files are one frame, and equal nodes are one node. Weights
 * are added up per node and thread in a hash table, because keeping samples would need memory for
 * each file.
 */
#include "cli/formats/merge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/array.h"

#define NS_PER_S    1e9
#define SHARES_ROOM 1024

#define UNSET UINT32_MAX

#define UNIT_BYTES 160

/* ---- threads --------------------------------------------------------------------------------- */

static int by_node_and_thread(const void *left, const void *right)
{
	const struct merge_share *a = left, *b = right;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static uint32_t hash_of_share(uint32_t node, uint32_t thread)
{
	return lookup_hash((uint64_t)thread << 32 | node);
}

static uint32_t hash_share(const void *shares, uint32_t number)
{
	const struct merge_share *share = &((const struct merge_share *)shares)[number - 1];

	return hash_of_share(share->node, share->thread);
}

static int add_share(struct merge *merge, uint32_t node, uint32_t thread, uint64_t weight)
{
	struct lookup_probe probe;
	uint32_t number;

	merge->account.limit_bytes = SIZE_MAX;
	if (ARRAY_GROW(merge->shares, merge->share_count, merge->share_room, SHARES_ROOM) ||
		lookup_reserve(&merge->share_lookup, &merge->account, 1, hash_share, merge->shares))
		return -ENOMEM;
	probe = lookup_begin(&merge->share_lookup, hash_of_share(node, thread));
	while ((number = lookup_next(&merge->share_lookup, &probe))) {
		struct merge_share *share = &merge->shares[number - 1];

		if (share->node == node && share->thread == thread) {
			share->weight += weight;
			return 0;
		}
	}
	merge->shares[merge->share_count++] = (struct merge_share){node, thread, weight};
	lookup_put(&merge->share_lookup, &probe, merge->share_count);
	return 0;
}

/* Threads with equal names and process names are one thread: names contain pid and tid. */
static int find_thread(struct merge *merge, const char *name, const char *process, uint32_t *thread)
{
	uint32_t known = merge->threads.count;
	int error = texts_add(&merge->threads, name, process, strlen(process), thread);

	if (!error && *thread == known)
		calltree_thread(merge->sum.tree, *thread, name, process);
	return error;
}

static int copy_threads(
	struct merge *merge, const struct calltree *from, const uint32_t *node_of, uint64_t factor)
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
			error = add_share(merge, node_of[sample->node], thread_of[sample->thread],
				sample->weight * factor);
	}
	free(thread_of);
	return error;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* Add frames in the order of @from: merging in parts must give the same tree as in one go. */
static void copy_frames(struct calltree *to, const struct calltree *from, uint32_t *frame_of)
{
	for (uint32_t i = 0; i < calltree_frames(from); i++) {
		frame_of[i] = calltree_intern(to, calltree_frame_at(from, i));
	}
}

static uint32_t root_node(struct calltree *to, const char *root)
{
	return root ? calltree_child(
			      to, CALLTREE_ROOT, calltree_frame(to, root, "", CALLTREE_PROCESS))
		    : CALLTREE_ROOT;
}

/* Add the nodes of @from to @to. node_of[N] receives the node of @to for node N of @from. */
static void copy_nodes(struct calltree *to, const struct calltree *from, const char *root,
	uint64_t factor, uint32_t *node_of, const uint32_t *frame_of)
{
	node_of[CALLTREE_ROOT] = root_node(to, root);
	for (uint32_t i = 0; i < calltree_nodes(from); i++) {
		const struct calltree_node *node = calltree_node_at(from, i);

		if (i)
			node_of[i] =
				calltree_child(to, node_of[node->parent], frame_of[node->frame]);
		if (node->self)
			calltree_add(to, node_of[i],
				node->self > UINT64_MAX / factor ? UINT64_MAX
								 : node->self * factor);
	}
}

static void copy_lines(
	struct calltree *to, const struct calltree *from, uint64_t factor, const uint32_t *frame_of)
{
	for (size_t i = 0; i < calltree_lines(from); i++) {
		struct calltree_line line = *calltree_line_at(from, i);

		line.frame = frame_of[line.frame];
		line.self *= factor;
		line.total *= factor;
		line.waits *= factor;
		calltree_add_line(to, &line);
	}
}

/* Add the tree @from to @to. @merge is NULL if threads are not needed. Returns 0 or -errno. */
static int copy_tree(struct merge *merge, struct calltree *to, const struct calltree *from,
	const char *root, uint64_t factor)
{
	uint32_t frames = calltree_frames(from);
	uint32_t *node_of = calloc((size_t)calltree_nodes(from) + 1, sizeof(*node_of));
	uint32_t *frame_of = malloc(((size_t)frames + 1) * sizeof(*frame_of));
	int error = node_of && frame_of ? 0 : -ENOMEM;

	if (!error) {
		copy_frames(to, from, frame_of);
		copy_nodes(to, from, root, factor, node_of, frame_of);
		copy_lines(to, from, factor, frame_of);
		error = calltree_error(to);
	}
	if (!error && merge)
		error = copy_threads(merge, from, node_of, factor);
	free(node_of);
	free(frame_of);
	/* Also merge equal source lines, whose number would otherwise grow with the files. */
	return error ? error : calltree_finish(to);
}

/* ---- units ----------------------------------------------------------------------------------- */

/* Returns the kind of time, "" if weights are counts. */
static const char *time_of(const struct input_facts *facts)
{
	return !facts->period_ns ? "" : facts->type_name[0] ? facts->type_name : "cpu";
}

/* Do counts of @left and @right measure the same? A file may not say what it measures. */
static bool has_same_counts(const struct input_facts *left, const struct input_facts *right)
{
	return !strcmp(input_count_name(left), input_count_name(right)) &&
	       (!left->type_name[0] || !right->type_name[0] ||
		       !strcmp(left->type_name, right->type_name));
}

/* Describe what @facts count, as "bytes of inuse_space" or "time: cpu". */
static const char *unit_text(const struct input_facts *facts, char text[UNIT_BYTES])
{
	if (*time_of(facts))
		snprintf(text, UNIT_BYTES, "time: %s", time_of(facts));
	else if (facts->type_name[0] && strcmp(facts->type_name, input_count_name(facts)))
		snprintf(text, UNIT_BYTES, "%s of %s", input_count_name(facts), facts->type_name);
	else
		snprintf(text, UNIT_BYTES, "%s", input_count_name(facts));
	return text;
}

static int refuse_units(
	const struct merge *merge, const struct input *input, struct diag_message *message)
{
	char is[UNIT_BYTES], was[UNIT_BYTES];

	diag_fail(message, -EINVAL,
		"cannot add '%s', which counts %s, to '%s', which counts %s", input->name,
		unit_text(&input->facts, is), merge->sum.name, unit_text(&merge->sum.facts, was));
	if (input->facts.unread_count)
		diag_fail_hint(message, "choose one for all files: --sample-type TYPE");
	else
		diag_fail_hint(message, "as folded stacks both count samples: flamerun render FILE "
					"-o FILE.folded");
	return -EINVAL;
}

/* Compute @factor, units of the sum per unit of @input. This may change the sum to nanoseconds. */
static int match_units(struct merge *merge, const struct input *input, uint64_t *factor,
	struct diag_message *message)
{
	struct input_facts *sum = &merge->sum.facts;
	const struct input_facts *facts = &input->facts;

	*factor = 1;
	if (strcmp(time_of(sum), time_of(facts)) ||
		(!*time_of(sum) && !has_same_counts(sum, facts)))
		return refuse_units(merge, input, message);
	if (sum->period_ns == facts->period_ns)
		return 0;
	if (merge->is_part)
		return -EXDEV;
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
	/* Add the durations, and keep the earliest start, as `go tool pprof` does. */
	if (__builtin_add_overflow(sum->duration_ns, facts->duration_ns, &sum->duration_ns))
		sum->duration_ns = 0;
	if (facts->created_s && (!sum->created_s || facts->created_s < sum->created_s))
		sum->created_s = facts->created_s;
}

/* Example: "3 files: 1200 samples, 6.09 s of cpu in 7.10 s" */
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
			input_count_name(sum), sum->period_ns ? ", " : "");
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

static int refuse_file(const struct input *input, int error, struct diag_message *message)
{
	return diag_fail(message, error, "cannot add '%s': %s", input->name, strerror(-error));
}

/* Add the stacks of a second kind of time, if that kind is the same in all files. */
static int add_other(
	struct merge *merge, const struct input *input, const char *root, uint64_t factor)
{
	char *name = merge->sum.facts.other_name;

	if (!calltree_total(input->other))
		return 0;
	if (*name && strcmp(name, input->facts.other_name)) {
		if (merge->is_part)
			return -EXDEV;
		diag_info("'%s': time of the kind %s is left out", input->name,
			input->facts.other_name);
		return 0;
	}
	strcpy(name, input->facts.other_name);
	return copy_tree(NULL, merge->sum.other, input->other, root, factor);
}

/* Prepare adding @input. Returns 0 and @factor for its weights, or -errno with @message filled. */
static int begin_file(struct merge *merge, const struct input *input, bool has_weight,
	uint64_t *factor, struct diag_message *message)
{
	int error = 0;

	*factor = 1;
	if (!merge->files++) {
		merge->sum.tree = calltree_new();
		merge->sum.other = calltree_new();
		error = merge->sum.tree && merge->sum.other ? 0 : -ENOMEM;
	}
	/* An empty sum or file has no unit, so it fits any other. */
	if (!error && !calltree_total(merge->sum.tree)) {
		begin_facts(merge, input);
	} else if (!error && has_weight) {
		error = match_units(merge, input, factor, message);
		if (error)
			return error;
		add_facts(merge, input);
	}
	return error ? refuse_file(input, error, message) : 0;
}

int merge_add(struct merge *merge, const struct input *input, const char *root,
	struct diag_message *message)
{
	uint64_t factor;
	int error = begin_file(merge, input, calltree_total(input->tree) != 0, &factor, message);

	if (error)
		return error;
	error = copy_tree(merge, merge->sum.tree, input->tree, root, factor);
	if (!error)
		error = add_other(merge, input, root, factor);
	merge->marks += input->facts.mark_count;
	return error ? refuse_file(input, error, message) : 0;
}

/* A file whose reader adds the stacks directly to the sum. */
struct addition {
	/* must be first, because begin_addition() casts a pointer to it */
	struct input_sum sum;
	struct merge *merge;
	struct input input;
	bool has_root;
};

static const char *root_of(const struct addition *addition)
{
	return addition->has_root ? addition->input.name : NULL;
}

static int begin_addition(struct input_sum *sum, struct diag_message *message)
{
	struct addition *addition = (struct addition *)sum;
	struct merge *merge = addition->merge;
	int error = begin_file(merge, &addition->input, true, &sum->factor, message);

	if (error)
		return error;
	sum->tree = merge->sum.tree;
	sum->threads = &merge->threads;
	sum->root = root_node(sum->tree, root_of(addition));
	return 0;
}

/* Add up samples per node and thread, so that memory grows with stacks and not with files. */
static int end_addition(struct addition *addition)
{
	struct merge *merge = addition->merge;
	struct calltree *tree = merge->sum.tree;
	int error = 0;

	for (size_t i = 0; !error && i < calltree_samples(tree); i++) {
		const struct calltree_sample *sample = calltree_sample_at(tree, i);

		error = add_share(
			merge, sample->node, sample->thread, sample->weight * addition->sum.factor);
	}
	calltree_forget_samples(tree);
	if (!error)
		error = add_other(merge, &addition->input, root_of(addition), addition->sum.factor);
	merge->marks += addition->input.facts.mark_count;
	return error;
}

int merge_read(struct merge *merge, const char *path, const struct input_request *request,
	bool has_root, struct diag_message *message)
{
	struct addition addition = {
		.sum = {.begin = begin_addition}, .merge = merge, .has_root = has_root};
	struct input_request own = *request;
	struct input *input = &addition.input;
	int error;

	own.sum = &addition.sum;
	error = input_read(input, path, &own, message);
	if (!error && addition.sum.tree) {
		error = end_addition(&addition);
		if (error)
			refuse_file(input, error, message);
	} else if (!error) {
		input_report_empty(input);
		error = merge_add(merge, input, root_of(&addition), message);
	}
	input_release(input);
	return error;
}

/*
 * Turn merge->shares into samples, up to each node's self weight: a forged file may assign more
 * weight to threads than a stack has.
 */
static void put_samples(struct merge *merge)
{
	struct calltree *tree = merge->sum.tree;
	uint64_t left = 0;

	if (merge->share_count)
		qsort(merge->shares, merge->share_count, sizeof(*merge->shares),
			by_node_and_thread);
	for (size_t i = 0; i < merge->share_count && !calltree_error(tree); i++) {
		const struct merge_share *share = &merge->shares[i];
		const struct calltree_sample sample = {.node = share->node,
			.thread = share->thread,
			.kind = calltree_kind_at(tree, share->node)};
		uint64_t weight = share->weight;

		if (!i || share->node != share[-1].node)
			left = calltree_node_at(tree, share->node)->self;
		if (weight > left)
			weight = left;
		left -= weight;
		calltree_sample_weight(tree, &sample, weight);
	}
}

int merge_join(struct merge *merge, struct merge *part, struct diag_message *message)
{
	int error;

	if (!part->files)
		return 0;
	put_samples(part);
	error = calltree_finish(part->sum.tree);
	if (!error)
		error = calltree_finish(part->sum.other);
	if (!error)
		error = merge_add(merge, &part->sum, NULL, message);
	merge->files += part->files - 1;
	merge->marks += part->marks;
	merge->had_times |= part->had_times;
	merge->had_other_titles |= part->had_other_titles;
	merge->had_other_filters |= part->had_other_filters;
	return error;
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
	pages_release(&merge->account, &merge->share_lookup.slots);
	*merge = (struct merge){.files = 0};
}
