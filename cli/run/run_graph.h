/* SPDX-License-Identifier: MIT */
/*
 * The end of a run: names for what was gathered, the pictures, and what is said about it all.
 *
 * A total of CPU time and of what virtual machines told is in no unit, so each is a tree of its
 * own, on which every option works by itself. Pictures and folded text show one, the clock's unless
 * --sample-type says otherwise; a pprof profile holds both in columns of their own.
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
 * Will a run with @options (finished) have the sample type they want? Time that a clock counted is
 * "cpu"; what virtual machines tell is "vm". Returns 0, or -EINVAL with
 * @message filled.
 */
int run_graph_check(const struct options *options, struct diag_message *message);

/* Everything is borrowed. */
struct run_graph {
	const struct options *options;
	struct gather *gather;
	struct results *results;
	char *const *words;	  /* the command line, for the title; NULL at the end */
	const char *program;	  /* what it is called in messages */
	const char *held_program; /* where its file can be read whatever becomes of it; or NULL */
	uint64_t started_ns;
	uint64_t ended_ns; /* the program's end, or the deadline */
	time_t started_wall_s;
	bool still_runs; /* the program, while the picture is drawn */
	bool is_stopped; /* what was attached to, from beginning to end */
	bool is_part;	 /* of something that looks after the outputs */
	struct commit *commit; /* of a rank: it goes into its node's file */
};

#define RUN_GRAPH_TITLE_BYTES 160

/* The command line @words (NULL at the end) as one line, cut to what a title can hold. */
void run_graph_title(char out[RUN_GRAPH_TITLE_BYTES], char *const *words);

/* Time of one kind: what a clock counted, or what virtual machines told. */
struct run_graph_tree {
	struct calltree *tree;
	struct picture_trees trees; /* what the options made of it */
	struct naming_report report;
};

/*
 * Name what was gathered of one kind and reshape it as the options want it. @is_so_far: more will
 * come, nobody is asked for symbols that are not here.
 * Returns 0, or -errno with @message filled. To be released in either case.
 */
int run_graph_tree_make(const struct run_graph *run_graph, bool is_vm, bool is_so_far,
	struct run_graph_tree *out, struct diag_message *message);
void run_graph_tree_release(struct run_graph_tree *tree); /* all zero is fine */

/*
 * Write what was gathered so far to all outputs; the gathering goes on.
 * Returns how many could not be written.
 */
unsigned run_graph_make_so_far(const struct run_graph *run_graph);

/*
 * Commit what was gathered so far, of a rank; the gathering goes on. Reports what went wrong.
 */
void run_graph_commit_so_far(const struct run_graph *run_graph);

/*
 * End the gathering, name, draw or commit, report. @child is what the kernel says of the program,
 * NULL while it still runs.
 * Returns how many outputs could not be written; all of them when there was nothing to write.
 */
unsigned run_graph_make(const struct run_graph *run_graph, const struct accounting_child *child);

#endif
