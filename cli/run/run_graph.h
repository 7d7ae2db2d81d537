/* SPDX-License-Identifier: MIT */
/*
 * At the end of a run: name the sampled addresses, draw the pictures and print the summary.
 *
 * CPU time and the time that virtual machines report cannot be added, so there are two trees, and
 * all options apply to both. Pictures and folded text show one tree: CPU time, unless --sample-type
 * selects the other. A pprof profile contains both in separate columns.
 */
#ifndef CLI_RUN_RUN_GRAPH_H
#define CLI_RUN_RUN_GRAPH_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "cli/diag.h"
#include "cli/picture_settings.h"
#include "cli/profile/naming.h"

struct accounting_child;
struct commit;
struct gather;
struct results;

/*
 * Check that a run with @options (finished) can have the selected sample type: "cpu", waiting time,
 * or "vm" (time that virtual machines report). Returns 0, or -EINVAL with @message filled.
 */
int run_graph_check(const struct options *options, struct diag_message *message);

/* A run to draw. All members are borrowed. */
struct run_graph {
	const struct options *options;
	struct gather *gather;
	struct results *results;
	char *const *words; /* command line; ends with NULL */
	const char *program;	  /* name for messages */
	/* path by which the program's file can be read even if it was replaced, or NULL */
	const char *held_program;
	uint64_t started_ns;
	uint64_t ended_ns; /* the program's end, or the deadline */
	time_t started_wall_s;
	/* the program runs while the picture is drawn */
	bool still_runs;
	bool is_stopped; /* attached processes never ran */
	/* true: one of several runs; the command that made them finishes the outputs */
	bool is_part;
	/* writes the profile of this rank of a parallel job; NULL: not a rank */
	struct commit *commit;
};

#define RUN_GRAPH_TITLE_BYTES 160

/* Write the command line @words (ends with NULL) to @out, as one line, cut for a title. */
void run_graph_title(char out[RUN_GRAPH_TITLE_BYTES], char *const *words);

/* The tree of one kind of time: CPU time and waits, or time that virtual machines report. */
struct run_graph_tree {
	struct calltree *tree;
	struct picture_trees trees; /* `tree`, changed by options */
	struct naming_report report;
};

/*
 * Build the tree of one kind of time (@is_vm: the time that virtual machines report) and apply the
 * options. @is_so_far: the run continues, so do not fetch missing symbols. The caller must release
 * @out, after errors as well. Returns 0, or -errno with @message filled.
 */
int run_graph_tree_make(const struct run_graph *run_graph, bool is_vm, bool is_so_far,
	struct run_graph_tree *out, struct diag_message *message);
void run_graph_tree_release(struct run_graph_tree *tree); /* all zero is fine */

/* Write the samples so far to all outputs. Sampling continues. Returns how many outputs failed. */
unsigned run_graph_make_so_far(const struct run_graph *run_graph);

/* Commit the samples of a rank so far. Sampling continues. Reports errors. */
void run_graph_commit_so_far(const struct run_graph *run_graph);

/*
 * End the sampling, build the trees, draw or commit, and print the summary. @child is the program's
 * resource usage from the kernel, or NULL if the program still runs. Returns how many outputs could
 * not be written: all of them if no tree could be built.
 */
unsigned run_graph_make(const struct run_graph *run_graph, const struct accounting_child *child);

#endif
