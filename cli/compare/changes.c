/* SPDX-License-Identifier: MIT */
/*
 * Test all functions, then name the causes: name_changes() takes significant changes in order of
 * relative change; of nearly equal ones, first the function with less weight, which is deeper. A
 * change is not named if half of it or more is in stacks that a change named before explains.
 *
 * A function that nearly appears or disappears is not named if its leaf functions weigh as before
 * under other callers: it was inlined or its calls became tail calls. move_past() finds callees
 * that tail calls moved beside the function.
 */
#include "cli/compare/changes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/student.h"

#define PROGRAM UINT32_MAX

/* Differences of counts up to this many samples are rounding errors. */
#define NEARLY_NONE 1e-3

/* Relative changes in a class of this width are nearly equal; by_magnitude() sorts classes. */
#define NEARLY 0.25

/* A function nearly appears or disappears if the logarithm of its count changes by more. */
#define NEARLY_ALL 1.4

/* A change is explained by others if at most this part of it is outside of their stacks. */
#define EXPLAINED 0.5

bool change_is_new(const struct change *change)
{
	return change->shift.old_mean <= 0 && change->shift.new_mean > 0;
}

bool change_is_gone(const struct change *change)
{
	return change->shift.new_mean <= 0 && change->shift.old_mean > 0;
}

/* ---- the family ------------------------------------------------------------------------------ */

static void add_change(struct changes *changes, uint32_t function, bool is_self, struct shift shift)
{
	if (shift.is_tested)
		changes->at[changes->count++] =
			(struct change){.function = function, .is_self = is_self, .shift = shift};
}

/* Is self weight equal to total weight, except for rounding? Such a function is tested once. */
static bool is_leaf(const struct sides *sides, uint32_t function)
{
	size_t first = (size_t)function * sides->runs;

	for (size_t i = first; i < first + sides->runs; i++)
		if (fabs(sides->total[i] - sides->self[i]) > NEARLY_NONE)
			return false;
	return true;
}

static struct shift_counts counts_of(const struct sides *sides, bool is_self)
{
	return (struct shift_counts){.at = is_self ? sides->self : sides->total,
		.functions = sides->ranking.functions,
		.runs = sides->runs,
		.old_runs = sides->old_runs,
		.log_factors = sides->log_factors,
		.sizes = sides->run_samples,
		.grains = sides->grains,
		.one_run_dispersion = sides_dispersion(sides, is_self)};
}

/* Compare the whole weight of each run. */
static struct shift program_shift(const struct sides *sides)
{
	struct shift_counts counts = counts_of(sides, false);
	struct shift shift = {.is_tested = false};

	if (sides->is_sampled)
		return shift_alone(sides->run_samples, sides->runs, sides->old_runs);
	counts.at = sides->run_samples;
	counts.functions = 1;
	shifts_of_means(&counts, &shift);
	return shift;
}

/* Test the program's CPU time. Compute the change that all functions have in common. */
static void find_program(struct changes *changes)
{
	const struct sides *sides = changes->sides;
	unsigned new_runs = sides->runs - sides->old_runs;
	double mean[2] = {0, 0}, squares = 0, half;

	add_change(changes, PROGRAM, false, program_shift(sides));
	for (unsigned run = 0; run < sides->runs; run++) {
		bool is_new = run >= sides->old_runs;

		mean[is_new] += sides->log_factors[run] / (is_new ? new_runs : sides->old_runs);
		if (!is_new)
			changes->old_samples += sides->run_samples[run] /
						exp(sides->log_factors[run]) / sides->old_runs;
	}
	for (unsigned run = 0; run < sides->runs; run++)
		squares += pow(sides->log_factors[run] - mean[run >= sides->old_runs], 2);
	changes->common = sides->has_factors ? expm1(mean[1] - mean[0]) : NAN;
	changes->common_low = changes->common_high = changes->common;
	if (sides->runs < 3 || !sides->has_factors)
		return;
	half = student_quantile(SHIFTS_ALPHA, sides->runs - 2.0) *
	       sqrt(squares / (sides->runs - 2) * (1.0 / sides->old_runs + 1.0 / new_runs));
	changes->common_low = expm1(mean[1] - mean[0] - half);
	changes->common_high = expm1(mean[1] - mean[0] + half);
}

/* If @is_self, test functions by self weight, else all but leaf functions by total weight. */
static int find_shifts_of(
	struct changes *changes, bool is_self, struct shift *shifts, struct shift_trend *trend)
{
	const struct sides *sides = changes->sides;
	struct shift_counts counts = counts_of(sides, is_self);
	int error = 0;

	if (sides->is_sampled)
		error = shifts_find(&counts, shifts, trend);
	else
		shifts_of_means(&counts, shifts);
	for (uint32_t i = 0; !error && i < counts.functions; i++)
		if (is_self || !is_leaf(sides, i))
			add_change(changes, i, is_self, shifts[i]);
	return error;
}

/* Raise most_points to the upper bound of this function's change, by shift_bound(). */
static void bound_points(struct changes *changes, const struct shift *shift, double times)
{
	changes->most_points = fmax(
		changes->most_points, 100 * shift_bound(shift, times) / changes->old_samples);
}

/* Raise most_points for untested functions (too few samples). All have equal `df`. */
static void bound_light(struct changes *changes, const struct shift *shifts, double level)
{
	uint32_t functions = changes->sides->ranking.functions;
	double df = functions ? shifts[0].df : 0;
	double times = df > 0 ? student_quantile(level, df) : INFINITY;

	for (uint32_t i = 0; i < functions; i++)
		if (!shifts[i].is_tested && shifts[i].old_mean + shifts[i].new_mean > 0)
			bound_points(changes, &shifts[i], times);
}

static int find_shifts(struct changes *changes)
{
	const struct sides *sides = changes->sides;
	struct shift_trend trends[2];
	struct shift *shifts[2] = {NULL, NULL};
	int error = 0;

	for (int is_self = 0; !error && is_self < 2; is_self++) {
		shifts[is_self] =
			calloc((size_t)sides->ranking.functions + 1, sizeof(struct shift));
		error = shifts[is_self] ? find_shifts_of(changes, is_self, shifts[is_self],
						  &trends[is_self])
					: -ENOMEM;
	}
	changes->detectable = changes->count && sides->is_sampled ? 0 : INFINITY;
	for (int is_self = 0;
		!error && changes->count && sides->is_sampled && is_self < 2; is_self++) {
		struct shift_counts counts = counts_of(sides, is_self);
		double level = SHIFTS_ALPHA / (double)changes->count;

		changes->detectable = fmax(changes->detectable,
			shift_detectable(&trends[is_self], &counts, CHANGES_USUAL_SHARE, level));
		bound_light(changes, shifts[is_self], level);
	}
	free(shifts[0]);
	free(shifts[1]);
	return error;
}

/* Without known chance, find the significant changes by a threshold. Set points of all changes. */
static void judge_by_points(struct changes *changes)
{
	for (size_t i = 0; i < changes->count; i++) {
		struct change *change = &changes->at[i];
		const struct shift *shift = &change->shift;

		change->points = 100 * (shift->new_mean - shift->old_mean) / changes->old_samples;
		change->low = change->high = shift->change;
		change->is_significant = fabs(change->points) >= CHANGES_LEAST_POINTS;
		changes->significant += change->is_significant;
	}
	changes->most_points = CHANGES_LEAST_POINTS;
}

/* Find the significant changes by Holm's procedure. Set intervals and points of all changes. */
static int test_all(struct changes *changes)
{
	double *p = calloc(changes->count + 1, sizeof(*p));
	double *level = calloc(changes->count + 1, sizeof(*level));
	bool has_function = false;
	long significant = -ENOMEM;

	for (size_t i = 0; p && i < changes->count; i++)
		p[i] = changes->at[i].shift.p;
	if (p && level)
		significant = shifts_holm(p, changes->count, SHIFTS_ALPHA, level);
	for (size_t i = 0; significant >= 0 && i < changes->count; i++) {
		struct change *change = &changes->at[i];
		struct shift *shift = &change->shift;

		change->is_significant = shift->p <= level[i];
		has_function |= change->function != PROGRAM;
		shift_interval(shift,
			change->is_significant ? level[i] : SHIFTS_ALPHA / (double)changes->count,
			&change->low, &change->high);
		change->points = 100 * (shift->new_mean - shift->old_mean) / changes->old_samples;
		if (change->is_significant ||
			(!change->is_self &&
				shift->old_mean > CHANGES_MOST_SHARE * changes->old_samples))
			continue;
		bound_points(changes, shift,
			student_quantile(SHIFTS_ALPHA / (double)changes->count, shift->df));
	}
	if (!has_function)
		changes->most_points = INFINITY;
	free(p);
	free(level);
	changes->significant = significant < 0 ? 0 : (size_t)significant;
	return significant < 0 ? (int)significant : 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Changes of weight, in samples per run. A position is the index of a node in preorder. */
struct explaining {
	const struct ranking *ranking;
	/* [position] -> change of the stacks that end at this node */
	double *moved;
	/* [function] -> change of its self weight in the whole tree */
	double *moved_in_all;
	/* [function] -> its part of the change that move_left() examined last */
	double *moved_here;
	bool *is_explained; /* [position] */
	/* [function] -> is it below the function that move_past() examines? */
	bool *is_below;
};

/* Returns 0 or -ENOMEM. */
static int weigh_moves(const struct sides *sides, struct explaining *explaining)
{
	const struct calltree *tree = sides->ranking.tree;
	double *factors = calloc(sides->runs + 1, sizeof(*factors));

	if (!factors)
		return -ENOMEM;
	for (unsigned run = 0; run < sides->runs; run++)
		factors[run] = exp(sides->log_factors[run]);

	for (size_t i = 0; i < calltree_samples(tree); i++) {
		const struct calltree_sample *sample = calltree_sample_at(tree, i);
		unsigned run = sides_run(sample);
		double weight = sides_weight(sides, sample) / factors[run];
		uint32_t at = sides->ranking.preorder.position[sample->node];

		weight = run < sides->old_runs ? -weight / sides->old_runs
					       : weight / (sides->runs - sides->old_runs);
		explaining->moved[at] += weight;
		explaining->moved_in_all[sides->ranking.function_at[at]] += weight;
	}
	free(factors);
	return 0;
}

/*
 * Returns the change of the stacks of @change that no named change explains. Adds the change of
 * each stack to moved_here[] of its leaf function. If @explains is set, marks the stacks as
 * explained.
 */
static double move_left(
	const struct explaining *explaining, const struct change *change, bool explains)
{
	const struct ranking *ranking = explaining->ranking;
	uint32_t end = 0;
	double left = 0;

	for (uint32_t at = 1; at < ranking->preorder.nodes; at++) {
		bool is_it = ranking->function_at[at] == change->function;

		if (is_it && !change->is_self && at >= end)
			end = ranking->preorder.end[at];
		if ((!is_it && at >= end) || explaining->is_explained[at])
			continue;
		left += explaining->moved[at];
		explaining->moved_here[ranking->function_at[at]] += explaining->moved[at];
		explaining->is_explained[at] = explains;
	}
	return left;
}

/*
 * Returns the change that move_left() examined last, without weight that only moved from one caller
 * to another: a leaf function counts at most with its change in the whole tree. Clears
 * moved_here[].
 */
static double move_of_ends(struct explaining *explaining)
{
	double sum = 0;

	for (uint32_t i = 0; i <= explaining->ranking->functions; i++) {
		double here = explaining->moved_here[i], all = explaining->moved_in_all[i];

		if ((here > 0) == (all > 0))
			sum += fabs(here) < fabs(all) ? here : all;
		explaining->moved_here[i] = 0;
	}
	return sum;
}

static double moved_below(const struct explaining *explaining, uint32_t at)
{
	double sum = 0;

	for (uint32_t end = explaining->ranking->preorder.end[at]; at < end; at++)
		sum += explaining->is_explained[at] ? 0 : explaining->moved[at];
	return sum;
}

/*
 * Returns the change of stacks that bypass @change's function, as after tail calls: a callee of
 * this function is directly below one of this function's callers.
 */
static double move_past(const struct explaining *explaining, const struct change *change)
{
	const struct ranking *ranking = explaining->ranking;
	const struct preorder *preorder = &ranking->preorder;
	double sum = 0;
	uint32_t end = 0;

	memset(explaining->is_below, 0, ranking->functions + (size_t)1);
	for (uint32_t at = 1; at < preorder->nodes; at++) {
		if (ranking->function_at[at] == change->function && at >= end)
			end = preorder->end[at];
		else if (at < end)
			explaining->is_below[ranking->function_at[at]] = true;
	}
	explaining->is_below[change->function] = false;
	for (uint32_t at = 1; at < preorder->nodes; at++) {
		uint32_t parent =
			preorder->position[calltree_node_at(ranking->tree, preorder->order[at])
						   ->parent];

		if (ranking->function_at[at] != change->function)
			continue;
		for (uint32_t other = parent + 1; other < preorder->end[parent];
			other = preorder->end[other])
			if (explaining->is_below[ranking->function_at[other]])
				sum += moved_below(explaining, other);
	}
	return sum;
}

static double weight_of(const struct change *change)
{
	return change->shift.old_mean + change->shift.new_mean;
}

static double magnitude_of(const struct change *change)
{
	return floor(log(fabs(change->shift.change)) / log1p(NEARLY));
}

/* Sort significant changes first. The program is last of these, so it explains no function. */
static int by_magnitude(const void *left, const void *right)
{
	const struct change *a = left, *b = right;
	double difference;

	if (a->is_significant != b->is_significant)
		return a->is_significant ? -1 : 1;
	if ((a->function == PROGRAM) != (b->function == PROGRAM))
		return a->function == PROGRAM ? 1 : -1;
	difference = magnitude_of(b) - magnitude_of(a);
	if (!(difference < 0 || difference > 0))
		difference = weight_of(a) - weight_of(b);
	if (!(difference < 0 || difference > 0))
		difference = (double)a->function - (double)b->function;
	return difference < 0 ? -1 : difference > 0;
}

static int by_points(const void *left, const void *right)
{
	const struct change *a = left, *b = right;
	double difference = fabs(b->points) - fabs(a->points);

	if (a->is_named != b->is_named)
		return a->is_named ? -1 : 1;
	if (a->is_significant != b->is_significant)
		return a->is_significant ? -1 : 1;
	if (!(difference < 0 || difference > 0))
		difference = (double)a->function - (double)b->function;
	return difference < 0 ? -1 : difference > 0;
}

static int name_changes(struct changes *changes)
{
	const struct sides *sides = changes->sides;
	uint32_t nodes = sides->ranking.preorder.nodes;
	size_t functions = sides->ranking.functions;
	struct explaining explaining = {.ranking = &sides->ranking,
		.moved = calloc(nodes, sizeof(double)),
		.moved_in_all = calloc(functions + 1, sizeof(double)),
		.moved_here = calloc(functions + 1, sizeof(double)),
		.is_explained = calloc(nodes, sizeof(bool)),
		.is_below = calloc(functions + 1, sizeof(bool))};
	int error = explaining.moved && explaining.moved_in_all && explaining.moved_here &&
				    explaining.is_explained && explaining.is_below
			    ? 0
			    : -ENOMEM;

	if (!error)
		error = weigh_moves(sides, &explaining);
	qsort(changes->at, changes->count, sizeof(*changes->at), by_magnitude);
	for (size_t i = 0; !error && i < changes->significant; i++) {
		struct change *change = &changes->at[i];
		const struct shift *shift = &change->shift;
		double all = shift->new_mean - shift->old_mean;
		double left, of_ends, past;

		if (change->function == PROGRAM)
			break;
		left = move_left(&explaining, change, false);
		of_ends = move_of_ends(&explaining);
		past = change->is_self ? 0 : move_past(&explaining, change);
		left += (past > 0) == (all > 0) ? 0 : past;
		change->is_named = fabs(left) > EXPLAINED * fabs(all) && (left > 0) == (all > 0);
		if (fabs(shift->change) > NEARLY_ALL && fabs(of_ends) <= EXPLAINED * fabs(all))
			change->is_named = false;
		if (!change->is_named)
			continue;
		move_left(&explaining, change, true);
		move_of_ends(&explaining);
		changes->named++;
	}
	free(explaining.moved);
	free(explaining.moved_in_all);
	free(explaining.moved_here);
	free(explaining.is_explained);
	free(explaining.is_below);
	return error;
}

/*
 * Set of_function[] to each function's first change: the most important one, by by_points(). Count
 * the others.
 */
static int index_functions(struct changes *changes)
{
	size_t functions = changes->sides->ranking.functions;

	changes->of_function = calloc(functions + 1, sizeof(*changes->of_function));
	if (!changes->of_function)
		return -ENOMEM;
	for (size_t i = 0; i < changes->count; i++) {
		uint32_t function = changes->at[i].function;

		if (function == PROGRAM)
			continue;
		changes->others += changes->at[i].is_significant && !changes->at[i].is_named;
		if (!changes->of_function[function])
			changes->of_function[function] = (uint32_t)i + 1;
	}
	return 0;
}

int changes_find(struct changes *changes, const struct sides *sides)
{
	int error;

	*changes = (struct changes){.sides = sides,
		.at = calloc(2 * (size_t)sides->ranking.functions + 1, sizeof(*changes->at))};
	if (!changes->at)
		return -ENOMEM;
	find_program(changes);
	error = find_shifts(changes);
	if (!error && sides->is_sampled)
		error = test_all(changes);
	else if (!error)
		judge_by_points(changes);
	if (!error)
		error = name_changes(changes);
	if (!error) {
		qsort(changes->at, changes->count, sizeof(*changes->at), by_points);
		error = index_functions(changes);
	}
	if (error)
		changes_release(changes);
	return error;
}

void changes_release(struct changes *changes)
{
	free(changes->at);
	free(changes->of_function);
	*changes = (struct changes){.sides = NULL};
}
