/* SPDX-License-Identifier: MIT */
/*
 * The commands of flamerun. A command prints through diag.h and never exits. It returns the exit
 * status or signal by which main() ends the process.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdio.h>

#include "cli/gather/pipe_reader.h"
#include "cli/options.h"
#include "libprof/profile/profile.h"

/*
 * Exit status if flamerun itself fails. env(1) and timeout(1) use 125, too. 126 and 127 mean that
 * the program could not be executed.
 */
#define COMMAND_FAILED 125

struct ending {
	int status; /* exit status, if @signal is 0 */
	int signal; /* not 0: end as if killed by this signal */
};

/* What a run counted and lost. Valid when the run is over. */
struct run_figures {
	/* True if the program ran and all outputs were written. */
	bool is_whole;
	uint64_t wall_ns;
	struct profile_totals totals;
	struct pipe_reader_refusal refusals[PIPE_READER_REFUSALS];
};

/*
 * Run the program argv[0] with its arguments (NULL at the end) and draw where it spent its time.
 * @options is finished. If @figures is not NULL, fill it. If an output then cannot be written, do
 * not save the stacks in another file, because the caller handles this failure.
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
 * Read files of stacks: command_render() draws one file, command_merge() draws several files as one
 * picture, command_top() prints tables of functions. Files and options begin at argv[@index] and
 * may be mixed. Options are added to @options.
 */
struct ending command_render(struct options *options, int argc, char **argv, int index);
struct ending command_merge(struct options *options, int argc, char **argv, int index);
struct ending command_top(struct options *options, int argc, char **argv, int index);

/*
 * Draw the profiles that the ranks of a job have written to @folder, as `flamerun merge` does.
 * @options is finished. Without --output the picture is the file job.svg in @folder. Reports
 * errors.
 */
void command_draw_job(const struct options *options, const char *folder);

/* Put files of stacks, or names for addresses, into a store. Parameters as for command_render(). */
struct ending command_push(struct options *options, int argc, char **argv, int index);

/* Compare two versions of a program, from files or runs. Parameters as for command_render(). */
struct ending command_diff(struct options *options, int argc, char **argv, int index);

/*
 * Add settings from files and from the environment to @options, which already has the command
 * line's options. Then finish @options. Prints warnings. Returns 0, or -errno with @message filled.
 */
int command_complete(struct options *options, struct diag_message *message);

/* The work of a command. @options is finished. Returns 0, or -errno with @message filled. */
typedef int command_work(const struct options *options, void *context, struct ending *ending,
	struct diag_message *message);

/*
 * Execute a command. @error is the result of parsing its words (if not 0, @message is filled). Call
 * command_print() if options->action asks for help or settings. Otherwise complete @options, call
 * @work, and report its error.
 */
struct ending command_finish(struct options *options, int error, command_work *work, void *context,
	struct diag_message *message);

/* Answer -h, --help, --version, --show-config or --completions (options->action) on stdout. */
struct ending command_print(struct options *options);

/*
 * Write the help to @out, from the options table: all documented options in groups, or only the
 * most used options if @is_short. Returns 0, or -errno of writing.
 */
int help_write(bool is_short, FILE *out);

/*
 * Write the completion script for @shell, a name of options_shells(), from the options table to
 * @out. `make completions` writes the files in completions/ with this function, and
 * tests/lint/lint_settings.py checks that those files are up to date. Returns 0, or -errno of
 * writing.
 */
int completions_write(const char *shell, FILE *out);

#endif
