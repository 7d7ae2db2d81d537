/* SPDX-License-Identifier: MIT */
/*
 * Run one program several times, or two programs alternately, and profile each run into a file. Two
 * programs run in the order old, new, new, old, so that slow changes, such as a CPU that gets warm,
 * affect both equally.
 *
 * Context: one thread, before this process starts other threads.
 */
#ifndef CLI_COMPARE_TURNS_H
#define CLI_COMPARE_TURNS_H

#include <signal.h>

#include "cli/command.h"
#include "cli/diag.h"
#include "cli/options.h"

struct turns {
	char folder[4096]; /* of the files; "" if there is none */
	/* paths for all requested runs, NULL at the end */
	char **paths;
	/* paths of the runs that succeeded, the old program's first */
	const char **files;
	struct run_figures *figures; /* [side * options->runs + run] */
	size_t figures_bytes;
	unsigned runs[2]; /* number of files per side */
	int signal;	  /* signal that asked to stop; 0: none */
	/* exit status to return if a run made no profile (already reported); else 0 */
	int status;
	/* how the program ended, if it failed and so ended the series; else all zero */
	struct ending failure;
	struct sigaction child_action;
	sigset_t mask;
	bool holds_signals;
};

/*
 * Run @argv[0] and @argv[1] (NULL-terminated; @argv[1] may be NULL) @options->warmups times each
 * without results, then @options->runs times. The programs' stdin and stdout are /dev/null. Warm-up
 * runs are sampled too, because sampling has caches of its own to warm.
 *
 * A signal that asks to stop is passed to the running program, and no other run follows. No run
 * follows a program that fails, either, unless @options->ignore_failure is set. Signals stay
 * blocked until turns_release().
 *
 * Returns 0, with fewer runs than requested after a signal. Otherwise -errno with @message filled,
 * or with an empty @message if @turns->status is set. The caller must call turns_release() in any
 * case, which removes the files.
 */
int turns_run(struct turns *turns, const struct options *options, char **const argv[2],
	struct diag_message *message);
void turns_release(struct turns *turns);

#endif
