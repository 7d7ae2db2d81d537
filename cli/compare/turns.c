/* SPDX-License-Identifier: MIT */
/*
 * Each run of a program is the command "run" in a forked child, with this process's options except
 * those for pictures. The child writes a profile into a temporary folder.
 *
 * Signals that ask this process to stop are blocked and received by sigwaitinfo(), together with
 * SIGCHLD. So turns_release() always removes the files.
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
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/signals.h"

/* The series to run. */
struct series {
	const struct options *options;
	char **const *argv;
	unsigned sides;
	sigset_t awaited;
	bool reported[2]; /* a failed run was reported */
};

struct turn {
	unsigned side;
	/* number among the runs or warm-ups of its side, from 1 */
	unsigned number;
	bool is_warmup;
	size_t file; /* index of its profile and figures */
	int status;
};

/* Returns the side whose program runs at turn @turn. The order is old, new, new, old, old, ... */
static unsigned side_of(const struct series *series, unsigned turn)
{
	return (turn + 1) / 2 % series->sides;
}

static int make_folder(struct turns *turns, struct diag_message *message)
{
	const char *parent = getenv("TMPDIR");

	if (!parent || !*parent)
		parent = "/tmp";
	if (snprintf(turns->folder, sizeof(turns->folder), "%s/flamerun-runs-XXXXXX", parent) >=
			(int)sizeof(turns->folder) - NAME_MAX ||
		!mkdtemp(turns->folder)) {
		turns->folder[0] = '\0';
		return diag_fail(message, -errno, "cannot make a folder in '%s': %s", parent,
			strerror(errno));
	}
	return 0;
}

/* ---- in the child ---------------------------------------------------------------------------- */

/* Redirect stdin and stdout to /dev/null: runs would repeat the output, and share the input. */
static int drop_streams(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		return -errno;
	close(null);
	return 0;
}

static struct ending run_once(
	const struct options *asked, const char *path, char **argv, struct run_figures *figures)
{
	struct options options = *asked;
	int error = drop_streams();

	if (error) {
		diag_error("cannot open '/dev/null': %s", strerror(-error));
		return (struct ending){.status = COMMAND_FAILED};
	}
	options.outputs = (struct options_list){.item = {path}, .count = 1};
	options.format = NULL;
	options.open = options.live = 0;
	options.source_map.count = 0; /* source maps are applied to the sum */
	options.focus.count = options.ignore.count = options.root.count = options.hide.count = 0;
	options.sample_type = NULL;
	if (options.level == DIAG_NORMAL)
		diag_set_level(DIAG_QUIET);
	return command_run(&options, argv, figures);
}

/* ---- around it ------------------------------------------------------------------------------- */

/* Wait for @child. Pass on signals of processes; @child gets signals of the terminal itself. */
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

static void describe_failure(
	const struct series *series, const struct turn *turn, struct diag_message *message)
{
	char how[128];

	if (WIFSIGNALED(turn->status))
		snprintf(how, sizeof(how), "was ended by signal %d (%s)", WTERMSIG(turn->status),
			strsignal(WTERMSIG(turn->status)));
	else
		snprintf(how, sizeof(how), "ended with status %d", WEXITSTATUS(turn->status));
	diag_fail(message, -ECANCELED, "'%s' %s in its %s %u", series->argv[turn->side][0], how,
		turn->is_warmup ? "warm-up" : "run", turn->number);
	diag_fail_hint(message, "--ignore-failure goes on");
}

/* Evaluate a run's status. Returns 0, or -ECANCELED if its failure ends the series of runs. */
static int check_status(struct turns *turns, struct series *series, const struct turn *turn,
	struct diag_message *message)
{
	const struct run_figures *figures = &turns->figures[turn->file];
	int status = turn->status;

	if (turns->signal)
		return 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) {
		turns->signal = SIGINT;
		return 0;
	}
	if (!figures->is_whole && WIFEXITED(status)) {
		/* The program may have succeeded, but its profile could not be written. */
		turns->status = figures->wall_ns || !WEXITSTATUS(status) ? COMMAND_FAILED
									 : WEXITSTATUS(status);
		return -ECANCELED;
	}
	if (!status)
		return 0;
	describe_failure(series, turn, message);
	if (series->options->ignore_failure && figures->is_whole) {
		if (!series->reported[turn->side])
			diag_info("%s", message->text);
		series->reported[turn->side] = true;
		*message = (struct diag_message){.text = ""};
		return 0;
	}
	if (WIFSIGNALED(status))
		turns->failure.signal = WTERMSIG(status);
	else
		turns->failure.status = WEXITSTATUS(status);
	return -ECANCELED;
}

/* Returns 0 or -ENOMEM. */
static int name_files(struct turns *turns, const struct series *series)
{
	size_t count = (size_t)series->sides * series->options->runs;
	void *figures = mmap(NULL, count * sizeof(*turns->figures), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (figures == MAP_FAILED)
		return -ENOMEM;
	turns->figures = figures;
	turns->figures_bytes = count * sizeof(*turns->figures);
	turns->paths = calloc(count + 1, sizeof(*turns->paths));
	turns->files = calloc(count + 1, sizeof(*turns->files));
	if (!turns->paths || !turns->files)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (asprintf(&turns->paths[i], "%s/%zu.pb.gz", turns->folder, i) < 0) {
			turns->paths[i] = NULL;
			return -ENOMEM;
		}
	return 0;
}

/* Fill turns->files with the paths of the runs that succeeded. */
static void list_files(struct turns *turns, const struct series *series)
{
	unsigned runs = series->options->runs, count = 0;

	for (unsigned i = 0; i < series->sides * runs; i++)
		if (i % runs < turns->runs[i / runs])
			turns->files[count++] = turns->paths[i];
}

/* Run a program once. Returns 0 with turn->status set, or -errno with @message filled. */
static int run_turn(struct turns *turns, const struct series *series, struct turn *turn,
	struct diag_message *message)
{
	struct run_figures *figures = &turns->figures[turn->file];
	struct ending ending;
	pid_t child;

	*figures = (struct run_figures){.wall_ns = 0};
	fflush(NULL);
	child = fork();
	if (child < 0)
		return diag_fail(message, -errno, "cannot fork: %s", strerror(errno));
	if (!child) {
		pthread_sigmask(SIG_SETMASK, &turns->mask, NULL);
		ending = run_once(series->options, turns->paths[turn->file],
			series->argv[turn->side], figures);
		fflush(NULL);
		if (ending.signal)
			signals_die(ending.signal);
		_exit(ending.signal ? 128 + ending.signal : ending.status);
	}
	turn->status = wait_for(turns, child, &series->awaited);
	return 0;
}

static int run_all(struct turns *turns, struct series *series, struct diag_message *message)
{
	const struct options *options = series->options;
	unsigned warmups = series->sides * options->warmups;
	int error = 0;

	for (unsigned i = 0; i < warmups + series->sides * options->runs; i++) {
		struct turn turn = {.is_warmup = i < warmups};

		turn.side = side_of(series, turn.is_warmup ? i : i - warmups);
		turn.number = turn.is_warmup ? i / series->sides + 1 : turns->runs[turn.side] + 1;
		turn.file = (size_t)turn.side * options->runs + turns->runs[turn.side];
		error = run_turn(turns, series, &turn, message);
		if (!error)
			error = check_status(turns, series, &turn, message);
		if (error || turns->signal)
			break;
		turns->runs[turn.side] += !turn.is_warmup;
	}
	return error;
}

int turns_run(struct turns *turns, const struct options *options, char **const argv[2],
	struct diag_message *message)
{
	static const int ends[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction standard = {.sa_handler = SIG_DFL};
	struct series series = {.options = options, .argv = argv, .sides = argv[1] ? 2 : 1};
	int error;

	*turns = (struct turns){.status = 0};
	sigemptyset(&series.awaited);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaddset(&series.awaited, ends[i]);
	sigaction(SIGCHLD, &standard, &turns->child_action);
	pthread_sigmask(SIG_BLOCK, &series.awaited, &turns->mask);
	turns->holds_signals = true;
	error = make_folder(turns, message);
	if (error)
		return error;
	if (name_files(turns, &series))
		return diag_fail(message, -ENOMEM, "out of memory");
	error = run_all(turns, &series, message);
	list_files(turns, &series);
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
	if (turns->figures)
		munmap(turns->figures, turns->figures_bytes);
	if (turns->folder[0])
		rmdir(turns->folder);
	/* Unblock signals after removing the files, because a pending signal ends this process. */
	if (turns->holds_signals) {
		sigaction(SIGCHLD, &turns->child_action, NULL);
		pthread_sigmask(SIG_SETMASK, &turns->mask, NULL);
	}
	*turns = (struct turns){.paths = NULL};
}
