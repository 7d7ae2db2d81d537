/* SPDX-License-Identifier: MIT */
/*
 * merge_add() gives the stacks of each file a root frame. Then join() makes one tree of the stacks
 * without these root frames, under names that both versions have. In this tree the number of a run
 * is stored as the thread of its samples, because filters and other passes keep threads.
 *
 * The factors of the runs (shifts_normalise()) are computed from parts of the program that do not
 * overlap: functions by self weight, inlined or not, because builds inline differently. A function
 * with a large share, such as code inlined everywhere, is split: each of its stacks is a part.
 */
#include "cli/compare/sides.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/renumbered.h"
#include "cli/compare/shifts.h"
#include "cli/formats/merge.h"
#include "cli/picture_settings.h"
#include "cli/store/fleet.h"
#include "render/transform.h"

#define NS_PER_S 1e9

/* To compute factors, a function with a larger share of the program is split into its stacks. */
#define PART_SHARE 0.1

/* Variance of counts / that of a Poisson distribution, for one run per side; by experiment. */
#define SELF_DISPERSION	 2.0
#define TOTAL_DISPERSION 8.0

/* Factor of the variance if waits are counted: one observation is worth so many samples. */
#define WAIT_DISPERSION 5.0

/* ---- which runs ------------------------------------------------------------------------------ */

static unsigned greatest_divisor(unsigned a, unsigned b)
{
	while (b) {
		unsigned remainder = a % b;

		a = b;
		b = remainder;
	}
	return a;
}

static void set_scales(struct sides *sides)
{
	unsigned new_runs = sides->runs - sides->old_runs;
	unsigned divisor = greatest_divisor(sides->old_runs, new_runs);

	sides->scales[0] = new_runs / divisor;
	sides->scales[1] = sides->old_runs / divisor;
}

unsigned sides_scale(const struct sides *sides, unsigned run)
{
	return sides->scales[run >= sides->old_runs];
}

double sides_dispersion(const struct sides *sides, bool is_self)
{
	return (is_self ? SELF_DISPERSION : TOTAL_DISPERSION) *
	       (sides->has_waits ? WAIT_DISPERSION : 1);
}

unsigned sides_run(const struct calltree_sample *sample)
{
	return sample->thread;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int refuse_empty(const struct sides_files *files, unsigned run, struct diag_message *message)
{
	const char *program = files->programs[run >= files->old_runs];

	if (program)
		return diag_fail(
			message, -EINVAL, "a run of '%s' has no samples to compare", program);
	return diag_fail(message, -EINVAL, "'%s' has no stacks to compare", files->paths[run]);
}

static int add_run(struct merge *merge, const struct sides_files *files, unsigned run,
	const struct input *input, struct diag_message *message)
{
	char root[16];

	snprintf(root, sizeof(root), "%u", run);
	if (!calltree_total(input->tree))
		return refuse_empty(files, run, message);
	return merge_add(merge, input, root, message);
}

static int read_versions(
	struct merge *merge, const struct sides_files *files, struct diag_message *message)
{
	struct input inputs[FOLDED_VERSIONS];
	int error = input_read_versions(inputs, files->paths[0], message);

	for (unsigned run = 0; run < FOLDED_VERSIONS; run++) {
		if (!error)
			error = add_run(merge, files, run, &inputs[run], message);
		input_release(&inputs[run]);
	}
	return error;
}

/* Are the weights of a file numbers of samples, or times that are multiples of a period? */
static bool is_sampled(const struct input_facts *facts)
{
	return facts->period_ns > 1 ||
	       (!facts->period_ns && !strcmp(input_count_name(facts), "samples"));
}

/* Read all files. *@period_ns receives the runs' mean sampling period; 0: weights are no times. */
static int read_files(struct sides *sides, const struct options *options,
	const struct sides_files *files, double *period_ns, struct diag_message *message)
{
	const struct input_request request = picture_input(options);
	struct merge merge = {.files = 0};
	int error = files->has_versions ? read_versions(&merge, files, message) : 0;

	for (unsigned run = 0; !error && !files->has_versions && run < files->runs; run++) {
		struct input input;

		error = input_read(&input, files->paths[run], &request, message);
		if (!error)
			error = add_run(&merge, files, run, &input, message);
		sides->grains[run] = (double)input.facts.period_ns;
		sides->is_sampled &= is_sampled(&input.facts);
		input_release(&input);
	}
	for (unsigned run = 0; run < files->runs; run++)
		*period_ns += sides->grains[run] / files->runs;
	for (unsigned run = 0; run < files->runs; run++)
		sides->grains[run] = sides->grains[run] > 0 ? sides->grains[run] / *period_ns : 1;
	/* A comparison needs no times and marks, so merge_end() must not report their loss. */
	merge.had_times = false;
	merge.marks = 0;
	if (!error)
		error = merge_end(&merge, &sides->input, message);
	merge_release(&merge);
	return error;
}

static int make_room(struct sides *sides, struct diag_message *message)
{
	sides->run_samples = calloc(sides->runs, sizeof(double));
	sides->grains = calloc(sides->runs, sizeof(double));
	sides->log_factors = calloc(sides->runs, sizeof(double));
	if (!sides->run_samples || !sides->grains || !sides->log_factors)
		return diag_fail(message, -ENOMEM, "out of memory");
	return 0;
}

/* Read stores. Each host is a run, so the number of runs is known only after reading. */
static int read_stores(struct sides *sides, const struct sides_files *files, double *period_ns,
	struct diag_message *message)
{
	struct input *input = &sides->input;
	struct fleet fleet;
	int error;

	input->path = input->name = files->paths[0];
	input->tree = calltree_new();
	input->other = calltree_new();
	if (!input->tree || !input->other)
		return diag_fail(message, -ENOMEM, "out of memory");
	error = fleet_read_sides(&fleet, input->tree, files->paths, files->runs, files->old_runs,
		&input->facts, message);
	if (error)
		return error;
	if (!fleet.runs[0] || !fleet.runs[1])
		return diag_fail(message, -EINVAL, "the store has no profiles of the %s version",
			fleet.runs[0] ? "new" : "old");
	sides->runs = fleet.runs[0] + fleet.runs[1];
	sides->old_runs = fleet.runs[0];
	sides->has_samples = true;
	error = make_room(sides, message);
	/* Assume one sampling rate in all runs, as the profiles of a host usually have. */
	for (unsigned run = 0; !error && run < sides->runs; run++)
		sides->grains[run] = 1;
	*period_ns = (double)input->facts.period_ns;
	sides->is_sampled = is_sampled(&input->facts);
	return error;
}

/* ---- one tree -------------------------------------------------------------------------------- */

enum {
	ON_OLD = 1,
	ON_NEW = 2,
	ON_BOTH = 3,
	/* the module is the same file in both versions, so addresses are comparable */
	HAS_ADDRESSES = 4,
	/* the frame itself, not only its module, is in both versions */
	IS_COMMON = 8
};

struct joining {
	struct sides *sides;
	const struct calltree *from; /* the merged input */
	/* true: a sample's thread number is its run; false: `from` has a root frame per run */
	bool has_samples;
	uint32_t *run;	       /* [node], if there are root frames */
	uint32_t *joined_node; /* [node] -> node of the joined tree */
	/* [frame] -> its frame in the joined tree, plus 1; 0: not made yet */
	uint32_t *frame_of;
	/* [frame] -> versions (ON_...) that have the frame, later those that have its module */
	uint8_t *frame_sides;
	uint32_t *frame_nodes; /* [frame] -> number of its nodes */
	struct renumbered *renumbered;
};

static void find_runs(struct joining *joining)
{
	const struct calltree *from = joining->from;

	for (uint32_t i = 1; i < calltree_nodes(from); i++) {
		const struct calltree_node *node = calltree_node_at(from, i);

		joining->run[i] =
			node->parent == CALLTREE_ROOT
				? (uint32_t)strtoul(
					  calltree_frame_at(from, node->frame)->name, NULL, 10)
				: joining->run[node->parent];
		if (node->parent == CALLTREE_ROOT)
			continue;
		joining->frame_sides[node->frame] |=
			joining->run[i] < joining->sides->old_runs ? ON_OLD : ON_NEW;
		joining->frame_nodes[node->frame]++;
	}
}

/* For each frame, find the versions that have samples in the subtrees of its nodes. */
static int find_sampled_sides(struct joining *joining)
{
	const struct calltree *from = joining->from;
	uint8_t *sides = calloc((size_t)calltree_nodes(from) + 1, 1);

	if (!sides)
		return -ENOMEM;
	for (size_t i = 0; i < calltree_samples(from); i++) {
		const struct calltree_sample *sample = calltree_sample_at(from, i);

		sides[sample->node] |= sample->thread < joining->sides->old_runs ? ON_OLD : ON_NEW;
	}
	for (uint32_t i = calltree_nodes(from); i-- > 1;) {
		const struct calltree_node *node = calltree_node_at(from, i);

		sides[node->parent] |= sides[i];
		joining->frame_sides[node->frame] |= sides[i];
		joining->frame_nodes[node->frame]++;
	}
	free(sides);
	return 0;
}

static int by_module(const void *left, const void *right, void *context)
{
	const struct calltree *tree = context;

	return strcmp(calltree_frame_at(tree, *(const uint32_t *)left)->module,
		calltree_frame_at(tree, *(const uint32_t *)right)->module);
}

/*
 * Mark all frames of one module, @first to @end, with each version that has any of them. If most
 * nodes of its unnamed frames are in both versions, the module is the same file: mark
 * HAS_ADDRESSES.
 */
static void spread_module(struct joining *joining, const uint32_t *first, const uint32_t *end)
{
	uint64_t nodes = 0, nodes_of_both = 0;
	uint8_t sides = 0;

	for (const uint32_t *at = first; at < end; at++) {
		bool is_both = joining->frame_sides[*at] == ON_BOTH;

		sides |= joining->frame_sides[*at];
		if (calltree_frame_at(joining->from, *at)->kind != CALLTREE_UNNAMED)
			continue;
		nodes += joining->frame_nodes[*at];
		nodes_of_both += is_both ? joining->frame_nodes[*at] : 0;
	}
	if (nodes_of_both > nodes / 2)
		sides |= HAS_ADDRESSES;
	for (const uint32_t *at = first; at < end; at++)
		joining->frame_sides[*at] =
			sides | (joining->frame_sides[*at] == ON_BOTH ? IS_COMMON : 0);
}

static int spread_sides(struct joining *joining)
{
	uint32_t frames = calltree_frames(joining->from), end;
	uint32_t *sorted = calloc((size_t)frames + 1, sizeof(*sorted));
	void *from = (void *)(uintptr_t)joining->from;

	if (!sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < frames; i++)
		sorted[i] = i;
	qsort_r(sorted, frames, sizeof(*sorted), by_module, from);
	for (uint32_t i = 0; i < frames; i = end) {
		for (end = i; end < frames && !by_module(&sorted[i], &sorted[end], from);)
			end++;
		spread_module(joining, sorted + i, sorted + end);
	}
	free(sorted);
	return 0;
}

/* Returns the joined tree's frame for frame @number. Both versions of a function share one. */
static uint32_t joined_frame(struct joining *joining, uint32_t number)
{
	const struct calltree_frame *frame = calltree_frame_at(joining->from, number);
	uint8_t sides = joining->frame_sides[number];
	const char *module = (sides & ON_BOTH) == ON_BOTH ? frame->module : "";
	struct calltree *to = joining->sides->joined;
	char *name;

	if (joining->frame_of[number])
		return joining->frame_of[number] - 1;
	if (frame->kind == CALLTREE_WAIT)
		module = frame->module; /* the kind of wait */
	if (frame->kind == CALLTREE_UNNAMED && !(sides & HAS_ADDRESSES)) {
		if (asprintf(&name, "[%s]", frame->module) < 0)
			name = NULL;
	} else {
		name = renumbered_name(joining->renumbered, frame->name, (sides & IS_COMMON) != 0);
	}
	/* If out of memory, use the frame's name unchanged. */
	joining->frame_of[number] =
		calltree_frame(to, name && *name ? name : frame->name, module, frame->kind) + 1;
	free(name);
	return joining->frame_of[number] - 1;
}

static void join_weight(struct joining *joining, uint32_t number, uint32_t run, uint64_t weight)
{
	struct calltree *to = joining->sides->joined;
	const struct calltree_sample sample = {.node = joining->joined_node[number],
		.thread = run,
		.kind = calltree_kind_at(joining->from, number)};

	if (__builtin_mul_overflow(weight, (uint64_t)sides_scale(joining->sides, run), &weight))
		weight = UINT64_MAX; /* beyond the tree's ceiling */
	calltree_add(to, sample.node, weight);
	calltree_sample_weight(to, &sample, weight);
}

static void join_node(struct joining *joining, uint32_t number)
{
	const struct calltree_node *node = calltree_node_at(joining->from, number);
	const struct calltree_frame *frame = calltree_frame_at(joining->from, node->frame);

	/* Skip the frames of processes and threads, because no two runs have the same ones. */
	joining->joined_node[number] = joining->joined_node[node->parent];
	if (frame->kind != CALLTREE_PROCESS && frame->kind != CALLTREE_THREAD &&
		frame->kind != CALLTREE_IDLE)
		joining->joined_node[number] = calltree_child(joining->sides->joined,
			joining->joined_node[node->parent], joined_frame(joining, node->frame));
	if (!joining->has_samples)
		join_weight(joining, number, joining->run[number], node->self);
}

static void name_runs(struct sides *sides)
{
	for (unsigned run = 0; run < sides->runs; run++) {
		bool is_new = run >= sides->old_runs;
		char name[32];

		snprintf(name, sizeof(name), "%s %u", is_new ? "new" : "old",
			run - (is_new ? sides->old_runs : 0) + 1);
		calltree_thread(sides->joined, run, name, is_new ? "new" : "old");
	}
}

/* Returns 0 or -errno. */
static int join(struct sides *sides)
{
	const struct calltree *from = sides->input.tree;
	struct joining joining = {
		.sides = sides,
		.from = from,
		.has_samples = sides->has_samples,
		.run = calloc((size_t)calltree_nodes(from) + 1, sizeof(uint32_t)),
		.joined_node = calloc((size_t)calltree_nodes(from) + 1, sizeof(uint32_t)),
		.frame_of = calloc((size_t)calltree_frames(from) + 1, sizeof(uint32_t)),
		.frame_sides = calloc((size_t)calltree_frames(from) + 1, 1),
		.frame_nodes = calloc((size_t)calltree_frames(from) + 1, sizeof(uint32_t)),
	};
	int error = -ENOMEM;

	sides->joined = calltree_new();
	if (sides->joined && joining.run && joining.joined_node && joining.frame_of &&
		joining.frame_sides && joining.frame_nodes &&
		!renumbered_new(&joining.renumbered)) {
		error = joining.has_samples ? find_sampled_sides(&joining) : 0;
		if (!joining.has_samples)
			find_runs(&joining);
		if (!error)
			error = spread_sides(&joining);
	}
	if (!error) {
		name_runs(sides);
		for (uint32_t i = 1; i < calltree_nodes(from); i++)
			join_node(&joining, i);
		for (size_t i = 0; joining.has_samples && i < calltree_samples(from); i++) {
			const struct calltree_sample *sample = calltree_sample_at(from, i);

			join_weight(&joining, sample->node, sample->thread, sample->weight);
		}
		error = calltree_finish(sides->joined);
	}
	free(joining.run);
	free(joining.joined_node);
	free(joining.frame_of);
	free(joining.frame_sides);
	free(joining.frame_nodes);
	renumbered_free(joining.renumbered);
	return error;
}

/* ---- counts ---------------------------------------------------------------------------------- */

double sides_weight(const struct sides *sides, const struct calltree_sample *sample)
{
	return sample->weight * sides->unit_samples / sides_scale(sides, sides_run(sample));
}

/* Arrays in which functions or parts are counted, [index * runs + run]; NULL: do not count. */
struct counting {
	double *self, *total;	 /* of functions */
	double *parts;		 /* counts of parts, by @part_of */
	const uint32_t *part_of; /* [position] */
};

/*
 * Set part_of[position in preorder] to the number of a part of the program: a function, or a single
 * position if the function has more than PART_SHARE. Returns the number of parts, or -ENOMEM.
 */
static long find_parts(const struct ranking *ranking, uint32_t *part_of)
{
	const struct calltree *tree = ranking->tree;
	const struct preorder *preorder = &ranking->preorder;
	double *weights = calloc((size_t)ranking->functions + 1, sizeof(*weights));
	double most = PART_SHARE * (double)calltree_total(tree);
	long parts = ranking->functions + 1;

	if (!weights)
		return -ENOMEM;
	part_of[0] = ranking->function_at[0];
	for (uint32_t at = 1; at < preorder->nodes; at++) {
		part_of[at] = ranking->function_at[at];
		weights[part_of[at]] += (double)calltree_node_at(tree, preorder->order[at])->self;
	}
	for (uint32_t at = 1; at < preorder->nodes; at++)
		if (weights[part_of[at]] > most)
			part_of[at] = (uint32_t)parts++;
	free(weights);
	return parts;
}

/* Count by self weight. */
static void count_self(
	const struct sides *sides, const struct ranking *ranking, const struct counting *counting)
{
	const struct calltree *tree = ranking->tree;

	for (size_t i = 0; i < calltree_samples(tree); i++) {
		const struct calltree_sample *sample = calltree_sample_at(tree, i);
		uint32_t at = ranking->preorder.position[sample->node];
		unsigned run = sides_run(sample);
		double weight = sides_weight(sides, sample);

		if (at && counting->self)
			counting->self[ranking->function_at[at] * sides->runs + run] += weight;
		if (at && counting->parts)
			counting->parts[counting->part_of[at] * sides->runs + run] += weight;
	}
}

/* Sort indices of samples by run. The indices of a run begin at sorted[starts[run]]. */
static void sort_by_run(const struct calltree *tree, unsigned runs, size_t *starts, size_t *sorted)
{
	size_t samples = calltree_samples(tree);

	/* Count in starts[run + 2]. Then starts[run + 1] becomes the next free index of `run`. */
	for (size_t i = 0; i < samples; i++)
		starts[sides_run(calltree_sample_at(tree, i)) + 2]++;
	for (unsigned run = 0; run < runs; run++)
		starts[run + 2] += starts[run + 1];
	for (size_t i = 0; i < samples; i++)
		sorted[starts[sides_run(calltree_sample_at(tree, i)) + 1]++] = i;
}

/* Arrays for count_totals() of one run, indexed by position in preorder, except `within`. */
struct below {
	uint32_t *parent;
	/* [function] -> end of its outermost call's subtree, where recursive calls do not count */
	uint32_t *within;
	double *weight; /* self weight, then total weight */
};

static void count_total(const struct sides *sides, const struct ranking *ranking,
	const struct counting *counting, const struct below *below, unsigned run)
{
	const struct preorder *preorder = &ranking->preorder;

	memset(below->within, 0, ((size_t)ranking->functions + 1) * sizeof(*below->within));
	for (uint32_t at = preorder->nodes; --at;)
		below->weight[below->parent[at]] += below->weight[at];
	for (uint32_t at = 1; at < preorder->nodes; at++) {
		uint32_t function = ranking->function_at[at];

		if (at < below->within[function])
			continue;
		counting->total[function * sides->runs + run] += below->weight[at];
		below->within[function] = preorder->end[at];
	}
}

/* Returns 0 or -ENOMEM. */
static int count_totals(
	const struct sides *sides, const struct ranking *ranking, const struct counting *counting)
{
	const struct calltree *tree = ranking->tree;
	const struct preorder *preorder = &ranking->preorder;
	size_t *starts = calloc(sides->runs + 2, sizeof(*starts));
	size_t *sorted = calloc(calltree_samples(tree) + 1, sizeof(*sorted));
	struct below below = {calloc(preorder->nodes, sizeof(uint32_t)),
		calloc((size_t)ranking->functions + 1, sizeof(uint32_t)),
		calloc(preorder->nodes, sizeof(double))};
	int error = starts && sorted && below.parent && below.within && below.weight ? 0 : -ENOMEM;

	if (!error)
		sort_by_run(tree, sides->runs, starts, sorted);
	for (uint32_t at = 1; !error && at < preorder->nodes; at++)
		below.parent[at] =
			preorder->position[calltree_node_at(tree, preorder->order[at])->parent];
	for (unsigned run = 0; !error && run < sides->runs; run++) {
		memset(below.weight, 0, preorder->nodes * sizeof(double));
		for (size_t i = starts[run]; i < starts[run + 1]; i++) {
			const struct calltree_sample *sample = calltree_sample_at(tree, sorted[i]);

			below.weight[preorder->position[sample->node]] +=
				sides_weight(sides, sample);
		}
		count_total(sides, ranking, counting, &below, run);
	}
	free(starts);
	free(sorted);
	free(below.parent);
	free(below.within);
	free(below.weight);
	return error;
}

static double *counts_new(const struct sides *sides, size_t things)
{
	return calloc((things + 1) * sides->runs, sizeof(double));
}

/* Compute the runs' factors from @counted, [part * runs + run]. Returns 0 or -ENOMEM. */
static int find_factors_of(struct sides *sides, const double *counted, size_t parts)
{
	double *sizes = calloc(sides->runs, sizeof(*sizes));
	struct shift_counts counts = {.at = counted,
		.functions = parts,
		.runs = sides->runs,
		.old_runs = sides->old_runs,
		.sizes = sizes,
		.grains = sides->grains,
		.one_run_dispersion = sides_dispersion(sides, true)};
	int known;

	if (!sizes)
		return -ENOMEM;
	for (size_t i = 0; i < parts * sides->runs; i++)
		sizes[i % sides->runs] += counted[i];
	known = shifts_normalise(&counts, sides->log_factors);
	sides->has_factors = known > 0;
	free(sizes);
	return known < 0 ? known : 0;
}

/* Compute factors from the unfiltered tree @whole: filters may keep only changed functions. */
static int find_factors(struct sides *sides, const struct calltree *whole)
{
	struct ranking ranking;
	uint32_t *part_of;
	double *counted = NULL;
	long parts = -ENOMEM;
	int error = ranking_init(&ranking, whole);

	if (error)
		return error;
	part_of = calloc(ranking.preorder.nodes, sizeof(*part_of));
	if (part_of)
		parts = find_parts(&ranking, part_of);
	if (parts >= 0)
		counted = counts_new(sides, (size_t)parts);
	error = counted ? 0 : -ENOMEM;
	if (!error) {
		count_self(
			sides, &ranking, &(struct counting){.parts = counted, .part_of = part_of});
		error = find_factors_of(sides, counted, (size_t)parts);
	}
	free(counted);
	free(part_of);
	ranking_release(&ranking);
	return error;
}

static int count_all(struct sides *sides)
{
	const struct calltree *tree = sides->trees.functions;
	struct counting counting;
	int error = ranking_init(&sides->ranking, tree);

	if (error)
		return error;
	sides->self = counts_new(sides, sides->ranking.functions);
	sides->total = counts_new(sides, sides->ranking.functions);
	if (!sides->self || !sides->total)
		return -ENOMEM;
	for (size_t i = 0; i < calltree_samples(tree); i++) {
		const struct calltree_sample *sample = calltree_sample_at(tree, i);
		double weight = sides_weight(sides, sample);

		sides->run_samples[sides_run(sample)] += weight;
		sides->samples += weight;
	}
	counting = (struct counting){.self = sides->self, .total = sides->total};
	count_self(sides, &sides->ranking, &counting);
	return count_totals(sides, &sides->ranking, &counting);
}

/* Refuse a version that the filters left no samples. Returns 0 or -EINVAL, with @message filled. */
static int check_left(const struct sides *sides, struct diag_message *message)
{
	double left[2] = {0, 0};

	for (unsigned run = 0; run < sides->runs; run++)
		left[run >= sides->old_runs] += sides->run_samples[run];
	if (left[0] > 0 && left[1] > 0)
		return 0;
	return diag_fail(message, -EINVAL, "nothing is left to compare of the %s version",
		left[0] > 0 ? "new" : "old");
}

int sides_read(struct sides *sides, const struct options *options, const struct sides_files *files,
	struct diag_message *message)
{
	struct calltree *drawn = NULL;
	enum calltree_times times = CALLTREE_TIMES_CPU;
	double period_ns = 0;
	int error;

	*sides = (struct sides){
		.runs = files->runs, .old_runs = files->old_runs, .is_sampled = true};
	error = files->are_stores ? read_stores(sides, files, &period_ns, message)
				  : make_room(sides, message);
	if (!error && !files->are_stores)
		error = read_files(sides, options, files, &period_ns, message);
	if (error)
		return error;
	set_scales(sides);
	sides->sample_s = period_ns / NS_PER_S;
	sides->unit_samples = 1;
	if (sides->input.facts.period_ns)
		sides->unit_samples =
			(double)sides->input.facts.period_ns / (sides->sample_s * NS_PER_S);
	error = join(sides);
	if (!error && calltree_waits(sides->joined))
		times = picture_times(options);
	sides->has_waits = times != CALLTREE_TIMES_CPU;
	if (!error)
		error = transform_times(sides->joined, times, &drawn);
	/* A machine that is slower has more samples, but not more bytes: these need no factors. */
	if (!error && sides->is_sampled)
		error = find_factors(sides, drawn ? drawn : sides->joined);
	calltree_free(drawn);
	if (error)
		return diag_fail(message, error, "cannot compare: %s", strerror(-error));
	error = picture_trees_make(&sides->trees, sides->joined, options, times,
		sides->is_sampled ? "samples" : sides->input.facts.count_name, "", message);
	if (error)
		return error;
	error = count_all(sides);
	if (error)
		return diag_fail(message, error, "cannot compare: %s", strerror(-error));
	return check_left(sides, message);
}

void sides_release(struct sides *sides)
{
	ranking_release(&sides->ranking);
	picture_trees_release(&sides->trees);
	calltree_free(sides->joined);
	input_release(&sides->input);
	free(sides->self);
	free(sides->total);
	free(sides->run_samples);
	free(sides->grains);
	free(sides->log_factors);
	*sides = (struct sides){.runs = 0};
}
