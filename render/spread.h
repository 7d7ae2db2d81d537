/* SPDX-License-Identifier: MIT */
/*
 * Variation between repeated runs of a program: the times of each run, and for each function the
 * standard deviation of its share of a run. A spread accompanies the tree that is the sum of these
 * runs.
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

/* Standard deviations over the runs: a function's self and total part (0 to 1) of the weight. */
struct spread_shares {
	double self, total;
};

/* Mean, standard deviation, minimum and maximum of the runs' times in seconds. */
struct spread_times {
	double mean, deviation, least, most;
};

/* Returns an owned, empty spread, or NULL if out of memory. */
struct spread *spread_new(void);
void spread_free(struct spread *spread); /* NULL is fine */

/*
 * Add @run (borrowed) and the shares of the functions of its @tree (finished, borrowed for the
 * call). A function that is not in @tree has the share 0. A run without samples does not count for
 * shares. If @tree is NULL, add the run's times only; the caller sets the deviations by
 * spread_put(). Returns 0 or -ENOMEM.
 */
int spread_add(struct spread *spread, const struct spread_run *run, const struct calltree *tree);

/* Set a function's deviations, after all runs have been added. Returns 0 or -ENOMEM. */
int spread_put(struct spread *spread, const struct calltree_frame *frame,
	const struct spread_shares *shares);

/*
 * Find the deviations of the function with @frame's name and module. Returns false if no run has
 * the function or fewer than two runs have samples.
 */
bool spread_find(const struct spread *spread, const struct calltree_frame *frame,
	struct spread_shares *shares);

unsigned spread_runs(const struct spread *spread);
const struct spread_run *spread_run_at(const struct spread *spread, unsigned run);

/* Returns statistics of the runs' CPU times (@is_cpu) or wall-clock times. There must be a run. */
struct spread_times spread_times(const struct spread *spread, bool is_cpu);

/* Files store a deviation of a share as an integer, multiplied by this. */
#define SPREAD_UNITS 1e6

/* Deviations of total shares below this are not stored. */
#define SPREAD_TOTAL_MIN 0.0005

#define SPREAD_TEXT_BYTES 128

/* Print "1.234 s ± 0.012 (1.210 to 1.260)" into @out. */
void spread_text(const struct spread *spread, bool is_cpu, char out[SPREAD_TEXT_BYTES]);

#endif
