/* SPDX-License-Identifier: MIT */
/*
 * Merge the runs of two versions of a program into one call tree, and count each function in each
 * run. Runs share the nodes of equal stacks.
 *
 * A function is identified by its name and module. Numbers in the name that differ between builds
 * or runs are removed (renumbered.h). If only one version has the module ("app-1.2"), the name
 * alone identifies the function. Functions without a name are identified by their module alone, or
 * by their address if the module is the same file in both versions.
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

/* Files to read, borrowed. The first @old_runs files are the old version. */
struct sides_files {
	const char *const *paths;
	unsigned runs, old_runs;
	/* the programs that were run, for messages; NULL: unknown */
	const char *programs[2];
	/* Set if both @paths name one file, whose lines have an old and a new count. */
	bool has_versions;
	/* Set if @paths are addresses of stores, in which each host counts as a run. */
	bool are_stores;
};

struct sides {
	unsigned runs, old_runs;
	/* facts and stacks of all runs; the stacks of each run have a root frame */
	struct input input;
	/* Set if @input is from stores: no root frames, and a sample's thread number is its run */
	bool has_samples;
	/*
	 * Tree of both versions. Each run is a thread of process "old" or "new". Weights are
	 * multiplied by sides_scale(), so that both sides weigh the same if one has more runs.
	 */
	struct calltree *joined;
	/* trees made from @joined; functions are counted in trees.functions */
	struct picture_trees trees;
	struct ranking ranking; /* of trees.functions */
	double samples;		/* counted, in all runs */
	double sample_s;	/* seconds of a sample; 0: no time */
	/* samples per unit of weight; 1 unless weights were converted to nanoseconds */
	double unit_samples;
	unsigned scales[2]; /* see sides_scale() */
	/* In samples, [function * runs + run]. */
	double *self, *total;
	double *run_samples; /* [run] -> samples counted */
	/* [run] -> its sampling period / the mean period; 1 if not known */
	double *grains;
	/* [run] -> logarithm of the factor that divides its counts, from shifts_normalise() */
	double *log_factors;
	bool has_factors; /* shifts_normalise() returned 1 */
	bool has_waits;	  /* waiting time is counted, too */
	/*
	 * Weights are numbers of samples, so it is known how much they differ by chance. Bytes,
	 * objects and times without a sampling period are not.
	 */
	bool is_sampled;
};

/*
 * Read @files and join them, with the filters and the shape that @options ask for. Returns 0, or
 * -errno with @message filled if a file cannot be read, has no stacks, or has another unit. The
 * caller must call sides_release() in any case.
 */
int sides_read(struct sides *sides, const struct options *options, const struct sides_files *files,
	struct diag_message *message);
void sides_release(struct sides *sides);

/* Returns shift_counts.one_run_dispersion for functions by self or total weight. */
double sides_dispersion(const struct sides *sides, bool is_self);

/* Returns the factor by which weights of @run were multiplied in @joined. */
unsigned sides_scale(const struct sides *sides, unsigned run);

/*
 * Return the number of the run of @sample, and the sample's weight in samples. @sample is one of a
 * tree made from @joined.
 */
unsigned sides_run(const struct calltree_sample *sample);
double sides_weight(const struct sides *sides, const struct calltree_sample *sample);

#endif
