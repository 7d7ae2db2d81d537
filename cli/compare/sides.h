/* SPDX-License-Identifier: MIT */
/*
 * The runs of two versions of a program as one call tree, and what each function weighs in each
 * run. Equal stacks of equal functions are one, whatever run they are of.
 *
 * A function is known by its name and module, but without what tells a compiler's copies of it
 * apart; where a module is in the runs of one version only, as "app-1.2" is, by its name alone; and
 * where it has no name by its module, unless both versions have the same one and its addresses.
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

/* Files to read, the first @old_runs of the old version. Borrowed. */
struct sides_files {
	const char *const *paths;
	unsigned runs, old_runs;
	const char *programs[2]; /* that were run for them, for messages; NULL: nobody knows */
	bool has_versions;	 /* one file with two counts a line, which is in both places */
	bool are_stores;	 /* addresses, of whose hosts each is a run */
};

struct sides {
	unsigned runs, old_runs;
	struct input input; /* the files' facts, and their stacks below a root for each run, or, */
	bool has_samples;   /* of stores, with samples of each run */
	/*
	 * Each run is a thread, of process "old" or "new". A run's weights are times what makes
	 * sides of different numbers of runs weigh alike, see sides_scale().
	 */
	struct calltree *joined;
	struct picture_trees trees; /* of that: ->functions is what is counted */
	struct ranking ranking;	    /* of the functions that are counted */
	double samples;		    /* that are counted, in all runs */
	double sample_s;	    /* CPU time of one; 0: these are no times */
	double unit_samples; /* of a unit of weight, where weights had to be made nanoseconds */
	unsigned scales[2];  /* see sides_scale() */
	/* In samples, [function * runs + run]. */
	double *self, *total;
	double *run_samples; /* [run], of what is counted */
	double *grains;	     /* [run]: what one of its own counts here, where rates differ */
	double *log_factors; /* [run], see cli/compare/shifts.h; of the whole program */
	bool has_factors;    /* else too few functions are alike */
	bool has_waits;	     /* time that nobody used is counted, too */
};

/*
 * Read @files and join them as @options (finished) want them drawn. Returns 0, or -errno with
 * @message filled: a file that cannot be read, has no stacks, or counts something else. To be
 * released in any case.
 */
int sides_read(struct sides *sides, const struct options *options, const struct sides_files *files,
	struct diag_message *message);
void sides_release(struct sides *sides);

/* How single runs vary, for functions by themselves or with what they call: see shift_counts. */
double sides_dispersion(const struct sides *sides, bool is_self);

/* What weights of @run's stacks in ->joined were multiplied with. */
unsigned sides_scale(const struct sides *sides, unsigned run);

/* The run that @sample of a tree made from ->joined is of, and what it weighs in samples. */
unsigned sides_run(const struct calltree_sample *sample);
double sides_weight(const struct sides *sides, const struct calltree_sample *sample);

#endif
