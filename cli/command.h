/* SPDX-License-Identifier: MIT */
/*
 * The commands of flamerun. Commands print through diag.h and never exit; they return how main()
 * ends the process.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdio.h>

#include "cli/gather/pipe_reader.h"
#include "cli/options.h"
#include "libprof/profile/profile.h"

/* Exit status if flamerun itself fails, as in env(1) and timeout(1). 126 and 127: exec failed. */
#define COMMAND_FAILED 125

struct ending {
	int status; /* exit status, if @signal is 0 */
	int signal; /* not 0: end as if killed by this signal */
};

/* Results of a run that is over. */
struct run_figures {
	bool is_whole; /* the program ran, and all outputs were written */
	uint64_t wall_ns;
	struct profile_totals totals;
	struct pipe_reader_refusal refusals[PIPE_READER_REFUSALS];
};

/*
 * Run the program argv[0] with its arguments (NULL at the end) and draw where it spent its time.
 * @options is finished. If @figures is not NULL, it is filled, and the caller handles outputs that
 * could not be written: their stacks are not saved in another file.
 */
struct ending command_run(const struct options *options, char **argv, struct run_figures *figures);

/* Run argv[0] several times (--repeat) and draw all runs as one. @options is finished. */
struct ending command_repeat(const struct options *options, char **argv);

/*
 * Sample the running processes in options->pids until they have ended, the duration is over, or a
 * signal or key asks to end. @options is finished.
 */
struct ending command_attach(const struct options *options);

/*
 * Commands that read files: draw the stacks of one file, draw those of several files as one, print
 * tables of functions. Files and options begin at argv[@index] and may be mixed; options are added
 * to @options.
 */
struct ending command_render(struct options *options, int argc, char **argv, int index);
struct ending command_merge(struct options *options, int argc, char **argv, int index);
struct ending command_top(struct options *options, int argc, char **argv, int index);

/*
 * Draw the profiles that the ranks of a job have written to @folder, as `flamerun merge` does.
 * @options is finished; without --output the picture is job.svg in @folder. Reports errors.
 */
void command_draw_job(const struct options *options, const char *folder);

/* Put files of stacks, or names for addresses, into a store. Parameters as of render. */
struct ending command_push(struct options *options, int argc, char **argv, int index);

/* Compare two versions of a program, from files or by running both. Parameters as of render. */
struct ending command_diff(struct options *options, int argc, char **argv, int index);

/*
 * Add settings of files and environment to @options, whose command line is parsed, and finish
 * @options. Prints warnings. Returns 0, or -errno with @message filled.
 */
int command_complete(struct options *options, struct diag_message *message);

/* The work of a command, with finished @options. Returns 0, or -errno with @message filled. */
typedef int command_work(const struct options *options, void *context, struct ending *ending,
	struct diag_message *message);

/*
 * Execute a command whose words were parsed with result @error (if not 0, @message is filled): call
 * command_print() if options->action asks for it; otherwise complete @options, call @work, and
 * report its error.
 */
struct ending command_finish(struct options *options, int error, command_work *work, void *context,
	struct diag_message *message);

/*
 * Print the answer to -h, --help, --version, --show-config or --completions (options->action) to
 * stdout.
 */
struct ending command_print(struct options *options);

/*
 * Write the help, made from the options table, to @out: all documented options by groups, or, if
 * @is_short, the most used ones. Returns 0, or -errno of writing.
 */
int help_write(bool is_short, FILE *out);

/*
 * Write the completion script for @shell, one of options_shells(), to @out. It is made from the
 * options table. `make completions` writes the files in completions/ by it, and
 * tests/lint/lint_settings.py checks that they are up to date. Returns 0, or -errno of writing.
 */
int completions_write(const char *shell, FILE *out);

#endif
