/* SPDX-License-Identifier: MIT */
/*
 * Two programs run in turns, each run profiled into a file of its own: old, new, new, old, so that
 * what changes slowly, as a CPU that becomes warm, is on both sides.
 *
 * Context: one thread, before any other was started.
 */
#ifndef CLI_COMPARE_TURNS_H
#define CLI_COMPARE_TURNS_H

#include "cli/diag.h"
#include "cli/options.h"

struct turns {
	char folder[4096];  /* that the files are in; "" without */
	char **paths;	    /* NULL at the end: of all runs that were asked for */
	const char **files; /* of those that have ended well, the old program's first */
	unsigned runs[2];   /* how many these are of each */
	int signal;	    /* that asked for the end; 0: none */
	int status;	    /* of a run of which more was said already; 0: none */
};

/*
 * Run @argv[0] and @argv[1] (words, NULL at the end) @options->runs times each, as @options
 * (finished) want it; they read nothing, and what they write to standard output is dropped.
 * A signal that asks for an end goes to the program that runs, which is the last one then.
 *
 * Returns 0, @turns->runs being less than asked for after a signal; or -errno with @message filled,
 * or nothing in it where ->status is not 0. To be released in any case, which removes the files.
 */
int turns_run(struct turns *turns, const struct options *options, char **const argv[2],
	struct diag_message *message);
void turns_release(struct turns *turns);

#endif
