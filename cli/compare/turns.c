/* SPDX-License-Identifier: MIT */
/*
 * A run is the command "run" in a process of its own, a fork of this one: its settings are ours,
 * but for what concerns pictures, and its output is a profile in a folder for the time being.
 *
 * Signals that ask for an end are blocked and waited for with SIGCHLD, so that the files are
 * removed whatever comes.
 */
#include "cli/compare/turns.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/run/signals.h"

static const char *const side_names[2] = {"old", "new"};

/* Which of the two is the @turn-th: old, new, new, old, old, ... */
static int side_of(unsigned turn)
{
	return (turn + 1) / 2 % 2;
}

static int make_folder(struct turns *turns, struct diag_message *message)
{
	const char *parent = getenv("TMPDIR");

	if (!parent || !*parent)
		parent = "/tmp";
	if (snprintf(turns->folder, sizeof(turns->folder), "%s/flamerun-diff-XXXXXX", parent) >=
			(int)sizeof(turns->folder) - NAME_MAX ||
		!mkdtemp(turns->folder)) {
		turns->folder[0] = '\0';
		return diag_fail(message, -errno, "cannot make a folder in '%s': %s", parent,
			strerror(errno));
	}
	return 0;
}

/* ---- in the child ---------------------------------------------------------------------------- */

/* Whoever reads a program's output wants it once; and nobody types for each of its runs. */
static int drop_streams(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		return -errno;
	close(null);
	return 0;
}

static struct ending run_once(const struct options *asked, const char *path, char **argv)
{
	struct options options = *asked;
	int error = drop_streams();

	if (error) {
		diag_error("cannot open '/dev/null': %s", strerror(-error));
		return (struct ending){.status = COMMAND_FAILED};
	}
	options.outputs = (struct options_list){.item = {path}, .count = 1};
	options.format = NULL;
	options.open = 0;
	options.focus.count = options.ignore.count = options.root.count = options.hide.count = 0;
	options.sample_type = NULL;
	if (options.level == DIAG_NORMAL)
		diag_set_level(DIAG_QUIET);
	return command_run(&options, argv);
}

/* ---- around it ------------------------------------------------------------------------------- */

/* Waits for @child. A signal that a process sent us is meant for it, too; the terminal's it got. */
static int wait_for(struct turns *turns, pid_t child, const sigset_t *awaited)
{
	siginfo_t info;
	int status;

	while (waitpid(child, &status, WNOHANG) != child) {
		if (sigwaitinfo(awaited, &info) < 0 || info.si_signo == SIGCHLD)
			continue;
		turns->signal = info.si_signo;
		if (info.si_code <= 0)
			kill(child, info.si_signo);
	}
	return status;
}

/* What @status of a run of @program means. Returns 0 where it can be compared. */
static int check_status(struct turns *turns, int status, int side, const char *program, bool *told,
	struct diag_message *message)
{
	unsigned number = turns->runs[side] + 1;

	if (turns->signal)
		return 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) {
		turns->signal = SIGINT;
		return 0;
	}
	if (WIFSIGNALED(status))
		return diag_fail(message, -ECANCELED,
			"'%s' was ended by signal %d (%s) in its run %u", program, WTERMSIG(status),
			strsignal(WTERMSIG(status)), number);
	if (WEXITSTATUS(status) >= COMMAND_FAILED && WEXITSTATUS(status) <= COMMAND_FAILED + 2) {
		turns->status = WEXITSTATUS(status);
		return -ECANCELED;
	}
	if (WEXITSTATUS(status) && !told[side]) {
		diag_info("'%s' ended with status %d in its run %u", program, WEXITSTATUS(status),
			number);
		told[side] = true;
	}
	return 0;
}

/* Returns 0 or -ENOMEM. */
static int name_files(struct turns *turns, unsigned runs)
{
	turns->paths = calloc(2 * (size_t)runs + 1, sizeof(*turns->paths));
	turns->files = calloc(2 * (size_t)runs + 1, sizeof(*turns->files));
	if (!turns->paths || !turns->files)
		return -ENOMEM;
	for (unsigned i = 0; i < 2 * runs; i++)
		if (asprintf(&turns->paths[i], "%s/%s-%u.pb.gz", turns->folder,
			    side_names[i / runs], i % runs) < 0) {
			turns->paths[i] = NULL;
			return -ENOMEM;
		}
	return 0;
}

/* Those that were written, without a gap. */
static void list_files(struct turns *turns, unsigned runs)
{
	unsigned count = 0;

	for (unsigned i = 0; i < 2 * runs; i++)
		if (i % runs < turns->runs[i / runs])
			turns->files[count++] = turns->paths[i];
}

static int run_turn(struct turns *turns, const struct options *options, const char *path,
	char **argv, int *status, const sigset_t sets[2], struct diag_message *message)
{
	struct ending ending;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child < 0)
		return diag_fail(message, -errno, "cannot fork: %s", strerror(errno));
	if (!child) {
		pthread_sigmask(SIG_SETMASK, &sets[1], NULL);
		ending = run_once(options, path, argv);
		fflush(NULL);
		if (ending.signal)
			signals_die(ending.signal);
		_exit(ending.signal ? 128 + ending.signal : ending.status);
	}
	*status = wait_for(turns, child, &sets[0]);
	return 0;
}

/* @sets: what is waited for, and the mask of before. */
static int run_all(struct turns *turns, const struct options *options, char **const argv[2],
	const sigset_t sets[2], struct diag_message *message)
{
	unsigned runs = options->runs;
	bool told[2] = {false, false};
	int error = 0;

	for (unsigned turn = 0; !error && !turns->signal && turn < 2 * runs; turn++) {
		int side = side_of(turn), status = 0;

		error = run_turn(turns, options,
			turns->paths[(unsigned)side * runs + turns->runs[side]], argv[side],
			&status, sets, message);
		if (!error)
			error = check_status(turns, status, side, argv[side][0], told, message);
		if (!error && !turns->signal)
			turns->runs[side]++;
	}
	return error;
}

int turns_run(struct turns *turns, const struct options *options, char **const argv[2],
	struct diag_message *message)
{
	struct sigaction standard = {.sa_handler = SIG_DFL}, child;
	sigset_t sets[2];
	int error;

	*turns = (struct turns){.status = 0};
	error = make_folder(turns, message);
	if (error)
		return error;
	if (name_files(turns, options->runs))
		return diag_fail(message, -ENOMEM, "out of memory");
	sigemptyset(&sets[0]);
	sigaddset(&sets[0], SIGCHLD);
	sigaddset(&sets[0], SIGINT);
	sigaddset(&sets[0], SIGTERM);
	sigaddset(&sets[0], SIGHUP);
	sigaddset(&sets[0], SIGQUIT);
	sigaction(SIGCHLD, &standard, &child);
	pthread_sigmask(SIG_BLOCK, &sets[0], &sets[1]);
	error = run_all(turns, options, argv, sets, message);
	pthread_sigmask(SIG_SETMASK, &sets[1], NULL);
	sigaction(SIGCHLD, &child, NULL);
	list_files(turns, options->runs);
	return error;
}

void turns_release(struct turns *turns)
{
	for (char **path = turns->paths; path && *path; path++) {
		unlink(*path);
		free(*path);
	}
	free(turns->paths);
	free(turns->files);
	if (turns->folder[0])
		rmdir(turns->folder);
	*turns = (struct turns){.paths = NULL};
}
