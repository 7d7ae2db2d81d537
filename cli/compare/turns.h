/* SPDX-License-Identifier: MIT */
/*
 * One program run several times, or two in turns, each run profiled into a file of its own. Of two
 * it is old, new, new, old, so that what changes slowly, as a CPU that becomes warm, is on both
 * sides.
 *
 * Context: one thread, before any other was started.
 */
#ifndef CLI_COMPARE_TURNS_H
#define CLI_COMPARE_TURNS_H

#include <signal.h>

#include "cli/command.h"
#include "cli/diag.h"
#include "cli/options.h"

struct turns {
	char folder[4096];	     /* that the files are in; "" without */
	char **paths;		     /* NULL at the end: of all runs that were asked for */
	const char **files;	     /* of those that have ended well, the old program's first */
	struct run_figures *figures; /* [side * options->runs + run of it] */
	size_t figures_bytes;
	unsigned runs[2]; /* how many files are of each */
	int signal;	  /* that asked for the end; 0: none */
	int status;	  /* of a run that could not be, of which more was said already; 0: none */
	struct ending failure; /* of a program, by which the runs ended; all zero: none */
	struct sigaction child_action;
	sigset_t mask;
	bool holds_signals;
};

/*
 * Run @argv[0] and @argv[1] (words, NULL at the end; NULL for the second: one program)
 * @options->warmups times each for nothing, then @options->runs times, as @options (finished) want
 * it; they read nothing, and what they write to standard output is dropped. A warm-up is sampled
 * like the others: what they will find warm includes what sampling needs.
 *
 * A signal that asks for an end goes to the program that runs, which is the last one then; and so
 * is one that fails, unless @options ignore that. Signals are held back until the release.
 *
 * Returns 0, @turns->runs being less than asked for after a signal; or -errno with @message filled,
 * or nothing in it where ->status is not 0. To be released in any case, which removes the files.
 */
int turns_run(struct turns *turns, const struct options *options, char **const argv[2],
	struct diag_message *message);
void turns_release(struct turns *turns);

#endif
