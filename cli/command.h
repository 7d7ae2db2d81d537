/* SPDX-License-Identifier: MIT */
/*
 * What flamerun can be asked to do. Commands print through diag.h and never exit: they say how the
 * process is to end.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdio.h>

#include "cli/gather/pipe_reader.h"
#include "cli/options.h"
#include "libprof/profile/profile.h"

/* Our own failure, as env(1) and timeout(1) have it; 126 and 127 are exec's. */
#define COMMAND_FAILED 125

/* How flamerun ends. */
struct ending {
	int status; /* exit status, unless */
	int signal; /* not 0: as if this signal had killed us */
};

/* What is known of a run when it is over. */
struct run_figures {
	bool is_whole; /* the program ran, and all outputs are written */
	uint64_t wall_ns;
	struct profile_totals totals;
	struct pipe_reader_refusal refusals[PIPE_READER_REFUSALS];
};

/*
 * Run argv[0] (with its arguments, NULL at the end) and draw where it spent its time.
 * @options is finished. @figures are filled; who asks for them (NULL: nobody) looks after the
 * outputs, so that stacks are not saved elsewhere when one cannot be written.
 */
struct ending command_run(const struct options *options, char **argv, struct run_figures *figures);

/* Likewise several times, and draw all runs as one; ->runs, ->warmups or their kin are set. */
struct ending command_repeat(const struct options *options, char **argv);

/*
 * Sample the running processes that options->pids name until they have ended, the duration is over,
 * or we are asked to end. @options is finished.
 */
struct ending command_attach(const struct options *options);

/*
 * Draw stacks that were written elsewhere: argv[*] from @index on are the words after "render",
 * operands and options mixed. Adds to @options.
 */
struct ending command_render(struct options *options, int argc, char **argv, int index);

/* Likewise: draw the stacks of several files as one, and print tables of what stacks weigh. */
struct ending command_merge(struct options *options, int argc, char **argv, int index);
struct ending command_top(struct options *options, int argc, char **argv, int index);

/*
 * Draw the job that ranks have gathered in @folder: what `flamerun merge` would. @options is
 * finished; a picture that nobody named is job.svg in the folder. Reports.
 */
void command_draw_job(const struct options *options, const char *folder);

/* Likewise: put files of stacks, or names for addresses, into a store. */
struct ending command_push(struct options *options, int argc, char **argv, int index);

/* Likewise: compare runs of two versions of a program, from files or by running both in turns. */
struct ending command_diff(struct options *options, int argc, char **argv, int index);

/*
 * Add what settings files and the environment say to @options, whose command line is parsed, and
 * finish them. Warns. Returns 0, or -errno with @message filled.
 */
int command_complete(struct options *options, struct diag_message *message);

/* What a command does once its options are finished: 0 or -errno with @message filled. */
typedef int command_work(const struct options *options, void *context, struct ending *ending,
	struct diag_message *message);

/*
 * What commands do behind their words, which @error (with @message filled) is of: answer what
 * command_print() does, or complete @options and have @work done, and report.
 */
struct ending command_finish(struct options *options, int error, command_work *work, void *context,
	struct diag_message *message);

/* Answer -h, --version, --show-config or --completions, as @options say, on standard output. */
struct ending command_print(struct options *options);

/* Write the help, made from the options table, to @out. Returns 0 or -errno of @out. */
int help_write(FILE *out);

/*
 * Write the completion script for @shell, one of options_shells(), made from the options table.
 * Those in completions/ are what `make completions` wrote; tests/lint/lint_settings.py holds them
 * to it. Returns 0 or -errno of @out.
 */
int completions_write(const char *shell, FILE *out);

#endif
