/* SPDX-License-Identifier: MIT */
/*
 * Add up, for each function, its share of each run's weight and the square of this share. A run
 * without the function adds 0. Functions are numbered by a call tree that has a frame for each.
 */
#include "render/spread.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/ranking.h"

#define NS_PER_S     1e9
#define DECIMALS_MIN 2
#define DECIMALS_MAX 6

struct sums {
	double self, self_square, total, total_square;
	bool is_known;
};

struct spread {
	struct spread_run *runs;
	unsigned count;
	unsigned weighed; /* number of runs that have samples */
	struct calltree *functions;
	struct sums *sums; /* [frame of @functions] */
	size_t room;
};

struct spread *spread_new(void)
{
	struct spread *spread = calloc(1, sizeof(*spread));

	if (spread)
		spread->functions = calltree_new();
	if (spread && spread->functions)
		return spread;
	free(spread);
	return NULL;
}

void spread_free(struct spread *spread)
{
	if (!spread)
		return;
	calltree_free(spread->functions);
	free(spread->sums);
	free(spread->runs);
	free(spread);
}

/* Returns the number of @frame's function; assigns a number if the function is new. */
static uint32_t number_of(const struct spread *spread, const struct calltree_frame *frame)
{
	return calltree_frame(spread->functions, frame->name, frame->module, CALLTREE_NATIVE);
}

/* Returns the sums of @frame's function, or NULL if out of memory. */
static struct sums *sums_of(struct spread *spread, const struct calltree_frame *frame)
{
	uint32_t number = number_of(spread, frame);

	if (calltree_error(spread->functions))
		return NULL;
	if (number >= spread->room) {
		size_t room = 2 * ((size_t)number + 1);
		struct sums *sums = reallocarray(spread->sums, room, sizeof(*sums));

		if (!sums)
			return NULL;
		memset(sums + spread->room, 0, (room - spread->room) * sizeof(*sums));
		spread->sums = sums;
		spread->room = room;
	}
	return &spread->sums[number];
}

static int add_shares(struct spread *spread, const struct calltree *tree)
{
	double all = (double)calltree_total(tree);
	struct ranking_rows rows = {.count = 0};
	struct ranking ranking;
	int error = ranking_init(&ranking, tree);

	if (error)
		return error;
	error = ranking_of(&ranking, CALLTREE_ROOT, &rows);
	for (uint32_t i = 0; !error && i < rows.count; i++) {
		const struct ranking_row *row = &rows.at[i];
		struct sums *sums = sums_of(spread, ranking_frame(&ranking, row->function));
		double self = (double)row->self / all, total = (double)row->total / all;

		if (!sums) {
			error = -ENOMEM;
			break;
		}
		sums->is_known = true;
		sums->self += self;
		sums->self_square += self * self;
		sums->total += total;
		sums->total_square += total * total;
	}
	free(rows.at);
	ranking_release(&ranking);
	return error;
}

int spread_add(struct spread *spread, const struct spread_run *run, const struct calltree *tree)
{
	struct spread_run *runs =
		reallocarray(spread->runs, spread->count + (size_t)1, sizeof(*runs));

	if (!runs)
		return -ENOMEM;
	spread->runs = runs;
	runs[spread->count++] = *run;
	if (tree && !calltree_total(tree))
		return 0;
	spread->weighed++;
	return tree ? add_shares(spread, tree) : 0;
}

int spread_put(struct spread *spread, const struct calltree_frame *frame,
	const struct spread_shares *shares)
{
	struct sums *sums = sums_of(spread, frame);
	double others = spread->weighed - 1.0;

	if (!sums)
		return -ENOMEM;
	/* Set sums with a mean of 0 whose standard deviations are @shares. */
	*sums = (struct sums){
		.self_square = shares->self * shares->self * others,
		.total_square = shares->total * shares->total * others,
		.is_known = true,
	};
	return 0;
}

static double deviation_of(double sum, double squares, unsigned count)
{
	return sqrt(fmax(0, squares - sum * sum / count) / (count - 1.0));
}

bool spread_find(const struct spread *spread, const struct calltree_frame *frame,
	struct spread_shares *shares)
{
	uint32_t number = number_of(spread, frame);
	const struct sums *sums;

	if (spread->weighed < 2 || calltree_error(spread->functions) || number >= spread->room)
		return false;
	sums = &spread->sums[number];
	if (!sums->is_known)
		return false;
	*shares = (struct spread_shares){
		.self = deviation_of(sums->self, sums->self_square, spread->weighed),
		.total = deviation_of(sums->total, sums->total_square, spread->weighed),
	};
	return true;
}

unsigned spread_runs(const struct spread *spread)
{
	return spread->count;
}

const struct spread_run *spread_run_at(const struct spread *spread, unsigned run)
{
	return &spread->runs[run];
}

struct spread_times spread_times(const struct spread *spread, bool is_cpu)
{
	struct spread_times times = {.least = INFINITY, .most = 0};
	double squares = 0;

	for (int pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < spread->count; i++) {
			const struct spread_run *run = &spread->runs[i];
			double s = (double)(is_cpu ? run->cpu_ns : run->wall_ns) / NS_PER_S;

			if (pass) {
				squares += (s - times.mean) * (s - times.mean);
				continue;
			}
			times.mean += s / spread->count;
			times.least = fmin(times.least, s);
			times.most = fmax(times.most, s);
		}
	if (spread->count > 1)
		times.deviation = sqrt(squares / (spread->count - 1.0));
	return times;
}

/* Returns the number of decimals with which @deviation has two significant digits. */
static int decimals_for(double deviation)
{
	double decimals = deviation > 0 ? 1 - floor(log10(deviation)) : 0;

	return (int)fmin(fmax(decimals, DECIMALS_MIN), DECIMALS_MAX);
}

void spread_text(const struct spread *spread, bool is_cpu, char out[SPREAD_TEXT_BYTES])
{
	struct spread_times times = spread_times(spread, is_cpu);
	int decimals = decimals_for(times.deviation);

	if (spread->count < 2)
		snprintf(out, SPREAD_TEXT_BYTES, "%.3f s", times.mean);
	else
		snprintf(out, SPREAD_TEXT_BYTES, "%.*f s \u00b1 %.*f (%.*f to %.*f)", decimals,
			times.mean, decimals, times.deviation, decimals, times.least, decimals,
			times.most);
}
