/* SPDX-License-Identifier: MIT */
/* Parse the command line, call the command, and exit. No function in another file exits. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/diag.h"
#include "cli/options.h"
#include "cli/own_stack.h"
#include "cli/picture_settings.h"
#include "cli/run/run_graph.h"
#include "cli/run/signals.h"

/* Words that are commands of flamerun, and not programs, if they come first. */
static const struct {
	const char *word;
	struct ending (*command)(struct options *options, int argc, char **argv, int index);
} reserved[] = {{"render", command_render}, {"merge", command_merge}, {"top", command_top},
	{"diff", command_diff}, {"push", command_push}};
#define RESERVED_COUNT (sizeof(reserved) / sizeof(reserved[0]))

/*
 * If a descriptor from 0 to 2 is closed, open /dev/null for it, so that no file of flamerun gets
 * this number. Reading stdin or writing stdout still fails with EBADF, because /dev/null is opened
 * for the other direction. The descriptor is close-on-exec, so it is closed in the program.
 */
static int occupy_standard_descriptors(void)
{
	for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++) {
		int mode = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY;

		if (fcntl(descriptor, F_GETFD) >= 0)
			continue;
		if (open("/dev/null", mode | O_CLOEXEC) != descriptor)
			return -errno;
	}
	return 0;
}

static struct ending report_failure(const struct diag_message *message)
{
	diag_report(message);
	return (struct ending){.status = COMMAND_FAILED};
}

/* Returns the index of @word in reserved[], or RESERVED_COUNT if @word is a program. */
static size_t find_reserved_word(const struct options *options, const char *word)
{
	size_t i = options->ended_by_dashes ? RESERVED_COUNT : 0;

	while (i < RESERVED_COUNT && strcmp(word, reserved[i].word))
		i++;
	return i;
}

/* Refuse options that cannot be combined with --job, and options that require --job. */
static int check_job(const struct options *options, struct diag_message *message)
{
	if (options->job && (options->pids || options->runs))
		return diag_fail(message, -EINVAL, "--job is for one run of a program, not for %s",
			options->pids ? "-p" : "--repeat");
	if (options->job && options->live)
		return diag_fail(message, -EINVAL, "--live shows one run, not the ranks of --job");
	if (!options->job && picture_by_rank(options))
		return diag_fail(message, -EINVAL, "--by rank and --by node are for --job");
	return 0;
}

static struct ending run_program(struct options *options, char **argv)
{
	struct diag_message message = {0};

	if (options_check_command(options, "a run", false, false, true, &message) ||
		command_complete(options, &message) || run_graph_check(options, &message) ||
		picture_check_groups(options, false, &message) || check_job(options, &message))
		return report_failure(&message);
	if (options->runs || options->warmups || options->ignore_failure)
		return command_repeat(options, argv);
	return options->pids ? command_attach(options) : command_run(options, argv, NULL);
}

static bool is_attaching(const struct options *options, int argc, int index)
{
	return options->pids && index == argc;
}

static struct ending dispatch(struct options *options, int argc, char **argv)
{
	struct diag_message message = {0};
	size_t word;
	int index = 1;

	if (options_parse(options, argc, argv, &index, &message))
		return report_failure(&message);
	diag_set_level(options->level);
	if (options->action != OPTIONS_RUN)
		return command_print(options);
	if (is_attaching(options, argc, index))
		return run_program(options, argv + index);
	if (options->pids) {
		diag_fail(&message, -EINVAL, "-p samples what runs already; '%s' would be started",
			argv[index]);
		diag_fail_hint(&message, "either -p PID or a program");
		return report_failure(&message);
	}
	if (index == argc) {
		diag_fail(&message, -EINVAL, "no program given");
		diag_fail_hint(&message, "flamerun [option...] [--] program [argument...]; "
					 "flamerun --help tells more");
		return report_failure(&message);
	}
	word = find_reserved_word(options, argv[index]);
	if (word == RESERVED_COUNT)
		return run_program(options, argv + index);
	return reserved[word].command(options, argc, argv, index + 1);
}

struct invocation {
	int argc;
	char **argv;
	struct options options;
	struct ending ending;
};

static void run_invocation(void *context)
{
	struct invocation *invocation = context;

	invocation->ending = dispatch(&invocation->options, invocation->argc, invocation->argv);
}

/* Run the command on a stack that is large enough. Returns 0, or -errno with @message filled. */
static int run_on_own_stack(struct invocation *invocation, struct diag_message *message)
{
	int error = occupy_standard_descriptors();

	if (error)
		return diag_fail(message, error, "cannot open '/dev/null': %s", strerror(-error));
	error = own_stack_call(run_invocation, invocation);
	if (error)
		diag_fail(message, error, "cannot start a thread: %s", strerror(-error));
	return error;
}

int main(int argc, char **argv)
{
	struct invocation invocation = {.argc = argc, .argv = argv};
	struct ending *ending = &invocation.ending;
	struct diag_message message = {0};

	signals_begin();
	options_init(&invocation.options);
	if (run_on_own_stack(&invocation, &message))
		*ending = report_failure(&message);
	if (ending->signal) {
		signals_die(ending->signal);
		ending->status = 128 + ending->signal;
	}
	exit(ending->status);
}
