/* SPDX-License-Identifier: MIT */
/*
 * Merge the runs of two versions of a program into one call tree, and count each function in each
 * run. Equal stacks are one, whichever runs they are from.
 *
 * Functions are identified by name and module, without the suffixes of compilers' clones. If only
 * one version has the module ("app-1.2"), the name alone is used. Functions without a name are
 * identified by their module, or by their address if both versions have the same module.
 *
 * Context: one thread.
 */
#ifndef CLI_COMPARE_SIDES_H
#define CLI_COMPARE_SIDES_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/diag.h"
#include "cli/formats/input.h"
#include "cli/options.h"
#include "cli/picture_settings.h"
#include "render/calltree.h"
#include "render/ranking.h"

/* The files to read; the first @old_runs are the old version. Borrowed. */
struct sides_files {
	const char *const *paths;
	unsigned runs, old_runs;
	const char *programs[2]; /* programs that were run, for messages; NULL: unknown */
	bool has_versions;	 /* a single file with two counts per line; @paths has it twice */
	bool are_stores;	 /* @paths are addresses of stores; each host in them is a run */
};

struct sides {
	unsigned runs, old_runs;
	struct input input; /* facts, and stacks: below a root frame for each run, or, */
	bool has_samples;   /* from stores, with samples whose thread is the run */
	/*
	 * Each run is a thread of process "old" or "new". Weights are multiplied by sides_scale(),
	 * so that both sides weigh alike if their numbers of runs differ.
	 */
	struct calltree *joined;
	struct picture_trees trees; /* made of @joined; trees.functions is what is counted */
	struct ranking ranking;	    /* of trees.functions */
	double samples;		    /* counted, in all runs */
	double sample_s;	    /* CPU time of a sample; 0: counts are not times */
	double unit_samples; /* per unit of weight; not 1 if weights became nanoseconds */
	unsigned scales[2];  /* see sides_scale() */
	/* In samples, [function * runs + run]. */
	double *self, *total;
	double *run_samples; /* [run] -> samples counted */
	double *grains;	     /* [run] -> samples here per sample of the run, if rates differ */
	double *log_factors; /* [run], see shifts_normalise(); of the whole program */
	bool has_factors;    /* shifts_normalise() returned 1 */
	bool has_waits;	     /* waiting time is counted, too */
};

/*
 * Read @files and join them, with the filters and shape of @options (finished). Returns 0, or
 * -errno with @message filled if a file cannot be read, has no stacks or another unit. The caller
 * must release @sides in any case.
 */
int sides_read(struct sides *sides, const struct options *options, const struct sides_files *files,
	struct diag_message *message);
void sides_release(struct sides *sides);

/* Returns shift_counts.one_run_dispersion for functions by self or total weight. */
double sides_dispersion(const struct sides *sides, bool is_self);

/* Returns the factor by which weights of @run were multiplied in @joined. */
unsigned sides_scale(const struct sides *sides, unsigned run);

/* Return the run of @sample, and its weight in samples, in a tree made from @joined. */
unsigned sides_run(const struct calltree_sample *sample);
double sides_weight(const struct sides *sides, const struct calltree_sample *sample);

#endif
