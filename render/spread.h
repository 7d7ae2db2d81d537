/* SPDX-License-Identifier: MIT */
/*
 * How runs of one program differ: what each took, and of each function the standard deviation of
 * its share of a run. It stands beside a tree that is the sum of the runs.
 *
 * Context: one thread.
 */
#ifndef RENDER_SPREAD_H
#define RENDER_SPREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "render/calltree.h"

struct spread;

struct spread_run {
	uint64_t wall_ns, cpu_ns;
};

/* Standard deviations of a function's shares, which are from 0 to 1. */
struct spread_shares {
	double self, total;
};

/* Of times, in seconds. */
struct spread_times {
	double mean, deviation, least, most;
};

/* Returns an owned, empty spread, or NULL without memory. */
struct spread *spread_new(void);
void spread_free(struct spread *spread); /* NULL is fine */

/*
 * Add a run that took @run (borrowed) and whose functions weigh what they do in @tree (finished,
 * borrowed for the call; NULL: spread_put() tells of them). A function that it has not has no share
 * of it; a run without samples is no part of shares.
 * Returns 0 or -ENOMEM.
 */
int spread_add(struct spread *spread, const struct spread_run *run, const struct calltree *tree);

/* The runs are known, and so are the @shares of the function of @frame. Returns 0 or -ENOMEM. */
int spread_put(struct spread *spread, const struct calltree_frame *frame,
	const struct spread_shares *shares);

/*
 * Those of the function of @frame, which is told by its name and module, into @shares. Returns
 * false where it is in no run, or there are not two runs to differ.
 */
bool spread_find(const struct spread *spread, const struct calltree_frame *frame,
	struct spread_shares *shares);

unsigned spread_runs(const struct spread *spread);
const struct spread_run *spread_run_at(const struct spread *spread, unsigned run);

/* Of at least one run, by the clock on the wall or, with @is_cpu, what they used of the CPU. */
struct spread_times spread_times(const struct spread *spread, bool is_cpu);

/* In files deviations are whole numbers, of which this many are everything. */
#define SPREAD_UNITS 1e6

/* Below this nobody asks how much a function's total differs. */
#define SPREAD_TOLD 0.0005

#define SPREAD_TEXT_BYTES 128

/* "1.234 s ± 0.012 (1.210 to 1.260)" into @out. */
void spread_text(const struct spread *spread, bool is_cpu, char out[SPREAD_TEXT_BYTES]);

#endif
