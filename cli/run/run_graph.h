/* SPDX-License-Identifier: MIT */
/*
 * Name what was gathered, draw the pictures and print the summary.
 *
 * CPU time and time that virtual machines report cannot be added, so each has a tree of its own, to
 * which all options are applied. Pictures and folded text show one tree: that of CPU time, unless
 * --sample-type selects the other. A pprof profile contains both in separate columns.
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
 * Check that a run with @options (finished) can have the sample type that they select: "cpu",
 * waiting time, or "vm" (time that virtual machines report). Returns 0, or -EINVAL with @message
 * filled.
 */
int run_graph_check(const struct options *options, struct diag_message *message);

/* Everything is borrowed. */
struct run_graph {
	const struct options *options;
	struct gather *gather;
	struct results *results;
	char *const *words;	  /* command line, for the title; ends with NULL */
	const char *program;	  /* its name in messages */
	const char *held_program; /* path from which its file can always be read, or NULL */
	uint64_t started_ns;
	uint64_t ended_ns; /* the program's end, or the deadline */
	time_t started_wall_s;
	bool still_runs; /* the program still runs while the picture is drawn */
	bool is_stopped; /* attached processes were stopped all the time */
	bool is_part;	 /* part of a command that finishes the outputs */
	struct commit *commit; /* of a rank, for its node's file; else NULL */
};

#define RUN_GRAPH_TITLE_BYTES 160

/* Write the command line @words (ends with NULL) as one line to @out, cut to fit a title. */
void run_graph_title(char out[RUN_GRAPH_TITLE_BYTES], char *const *words);

/* The tree of one kind of time: CPU time and waits, or time that virtual machines report. */
struct run_graph_tree {
	struct calltree *tree;
	struct picture_trees trees; /* `tree` as transformed by the options */
	struct naming_report report;
};

/*
 * Build the tree of one kind of time (@is_vm: virtual machines') and apply the options. @is_so_far:
 * this is not the end, so do not fetch missing symbols. Returns 0, or -errno with @message filled.
 * Release @out in either case.
 */
int run_graph_tree_make(const struct run_graph *run_graph, bool is_vm, bool is_so_far,
	struct run_graph_tree *out, struct diag_message *message);
void run_graph_tree_release(struct run_graph_tree *tree); /* all zero is fine */

/* Write what was gathered so far to all outputs; gathering continues. Returns how many failed. */
unsigned run_graph_make_so_far(const struct run_graph *run_graph);

/* Commit what a rank gathered so far; gathering continues. Reports errors. */
void run_graph_commit_so_far(const struct run_graph *run_graph);

/*
 * End the gathering, build the trees, draw or commit, and print the summary. @child is the kernel's
 * report on the program, NULL while it still runs. Returns how many outputs could not be written;
 * all of them if there was nothing to write.
 */
unsigned run_graph_make(const struct run_graph *run_graph, const struct accounting_child *child);

#endif
