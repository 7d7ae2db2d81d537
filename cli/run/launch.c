/* SPDX-License-Identifier: MIT */
/* Start a program (environment, fork, exec, report of exec's error), and watch its process. */
#include "cli/run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/command.h"
#include "cli/diag.h"
#include "cli/run/gather.h"
#include "cli/run/live.h"
#include "cli/run/signals.h"
#include "libprof/procfs.h"

#define PRELOAD "LD_PRELOAD="

static bool is_same_name(const char *entry, const char *channel)
{
	size_t bytes = strcspn(channel, "=") + 1;

	return !strncmp(entry, channel, bytes);
}

/* Is @library one of the entries of the LD_PRELOAD value @list? */
static bool is_listed(const char *list, const char *library)
{
	size_t bytes = strlen(library);

	while (*list) {
		size_t entry = strcspn(list, " :");

		if (entry == bytes && !memcmp(list, library, bytes))
			return true;
		list += entry + (list[entry] != '\0');
	}
	return false;
}

/* Append @library to @old, because an AddressSanitizer runtime in @old must be loaded first. */
static char *preload_entry(const char *library, const char *old)
{
	char *entry = NULL;

	if (old && is_listed(old, library))
		return asprintf(&entry, PRELOAD "%s", old) < 0 ? NULL : entry;
	if (asprintf(&entry, PRELOAD "%s%s%s", old ? old : "", old && *old ? ":" : "", library) < 0)
		return NULL;
	return entry;
}

/* The array is LD_PRELOAD=... (owned), @channel, and the other strings of @base (borrowed). */
char **launch_environment(char *const *base, const char *library, const char *channel)
{
	const char *old = NULL;
	size_t count = 0, kept = 2;
	char **made;

	while (base[count])
		count++;
	made = calloc(count + 3, sizeof(*made));
	if (!made)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		if (!strncmp(base[i], PRELOAD, strlen(PRELOAD)))
			old = old ? old : base[i] + strlen(PRELOAD);
		else if (!is_same_name(base[i], channel))
			made[kept++] = base[i];
	}
	made[0] = preload_entry(library, old);
	made[1] = (char *)channel;
	if (!made[0]) {
		free(made);
		return NULL;
	}
	return made;
}

void launch_environment_free(char **environment)
{
	if (!environment)
		return;
	free(environment[0]);
	free(environment);
}

/* Returns the owned command "sh @file argument...", for a script without "#!"; NULL: no memory. */
static char **shell_arguments(const char *file, char *const *argv)
{
	size_t count = 0;
	char **made;

	while (argv[count])
		count++;
	made = calloc(count + 2, sizeof(*made));
	if (!made)
		return NULL;
	made[0] = (char *)PREFLIGHT_SHELL;
	made[1] = (char *)file;
	for (size_t i = 1; i < count; i++)
		made[i + 1] = argv[i];
	return made;
}

/* In the child: report to the parent, and wait until it permits the exec. Exit if it does not. */
static void await_admission(int gate)
{
	char word = 0;

	if (write(gate, &word, 1) != 1 || read(gate, &word, 1) != 1)
		_exit(COMMAND_FAILED);
}

static void exec_program(const char *file, char *const *argv, char *const *shell_argv,
	char *const *environment, int report)
{
	int error;

	signals_restore();
	execve(file, argv, environment);
	if (errno == ENOEXEC)
		execve(PREFLIGHT_SHELL, shell_argv, environment);
	error = errno;
	if (write(report, &error, sizeof(error)) < 0) {
		/* the parent is gone */
	}
	_exit(COMMAND_FAILED);
}

/* Wait until exec closes the pipe or reports its error. Returns 0 or a positive errno. */
static int exec_error(int from)
{
	int error = 0;
	ssize_t bytes;

	do {
		bytes = read(from, &error, sizeof(error));
	} while (bytes < 0 && errno == EINTR);
	return bytes == (ssize_t)sizeof(error) ? error : 0;
}

/* Call request->admit(), then let @child exec. Returns 0, or -errno with @message filled. */
static int admit_child(
	const struct launch_request *request, pid_t child, int gate, struct diag_message *message)
{
	char word;
	int error;

	if (!request->admit)
		return 0;
	if (read(gate, &word, 1) != 1)
		return diag_fail(message, -ECHILD, "cannot start a process: it ended at once");
	error = request->admit(request->context, child, message);
	if (!error && send(gate, &word, 1, MSG_NOSIGNAL) != 1)
		error = diag_fail(message, -errno, "cannot start a process: %s", strerror(errno));
	return error;
}

static void reap_child(pid_t child)
{
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Open the pipe for exec's error, and the sockets by which the child waits for permission. */
static int open_channels(int report[2], int gate[2])
{
	int error;

	if (pipe2(report, O_CLOEXEC))
		return -errno;
	if (!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate))
		return 0;
	error = -errno;
	close(report[0]);
	close(report[1]);
	return error;
}

/* Replace those standard streams that are terminals. Context: between fork and exec. */
static void replace_terminal(const struct launch_request *request)
{
	if (request->terminal_input >= 0 && isatty(STDIN_FILENO))
		dup2(request->terminal_input, STDIN_FILENO);
	for (int i = STDOUT_FILENO; i <= STDERR_FILENO; i++)
		if (request->terminal_output >= 0 && isatty(i))
			dup2(request->terminal_output, i);
}

static int start_child(pid_t *child, const struct launch_request *request, char *const *shell_argv,
	char *const *environment, struct diag_message *message)
{
	int report[2], gate[2];
	int error = open_channels(report, gate);
	int refusal;

	if (error)
		goto fail;
	*child = fork();
	if (!*child) {
		close(gate[0]);
		/* needed if the Yama module restricts ptrace; fails harmlessly without Yama */
		if (request->tracer > 0)
			prctl(PR_SET_PTRACER, (unsigned long)request->tracer, 0, 0, 0);
		if (request->admit)
			await_admission(gate[1]);
		replace_terminal(request);
		exec_program(
			request->program->path, request->argv, shell_argv, environment, report[1]);
	}
	error = *child < 0 ? -errno : 0;
	close(report[1]);
	close(gate[1]);
	refusal = error ? 0 : admit_child(request, *child, gate[0], message);
	close(gate[0]);
	if (!error && !refusal)
		error = -exec_error(report[0]);
	close(report[0]);
	if (refusal) {
		reap_child(*child);
		return COMMAND_FAILED;
	}
	if (!error)
		return 0;
	if (*child < 0)
		goto fail;
	reap_child(*child);
	diag_fail(message, error, "cannot run '%s': %s", request->argv[0], strerror(-error));
	return preflight_status(error);
fail:
	diag_fail(message, error, "cannot start a process: %s", strerror(-error));
	return COMMAND_FAILED;
}

extern char **environ;

int launch(pid_t *child, const struct launch_request *request, struct diag_message *message)
{
	char **made = NULL;
	char *const *environment = environ;
	char **shell_argv = shell_arguments(request->program->path, request->argv);
	pid_t started = -1;
	int status;

	if (request->library)
		environment = made =
			launch_environment(environ, request->library, request->channel);
	if (!environment || !shell_argv) {
		diag_fail(message, -ENOMEM, "out of memory");
		status = COMMAND_FAILED;
	} else {
		status = start_child(&started, request, shell_argv, environment, message);
	}
	if (!status)
		*child = started;
	free(shell_argv);
	launch_environment_free(made);
	return status;
}

/* ---- watching the child ---------------------------------------------------------------------- */

#define TICK_MS	       50 /* ms, longest time between polls */
#define GRACE_TICK_MS  5
#define CONTINUE_TRIES 10
#define NS_PER_MS      1000000u
#define NS_PER_S       1000000000u

static void report_once(int error)
{
	static bool is_reported;
	struct diag_message message;

	if (!error || is_reported)
		return;
	is_reported = true;
	diag_fail(&message, -ENOMEM, "out of memory: not everything that is sampled can be kept");
	diag_report(&message);
}

/* Returns the ms for which poll() may wait for an event, or -1: without limit. */
static int remaining_ms(const struct watch *watch)
{
	int patience = watch->gather || watch->live ? TICK_MS : -1;
	uint64_t now_ns = clock_now_ns(), left_ms;

	if (!watch->deadline_ns)
		return patience;
	if (now_ns >= watch->deadline_ns)
		return 0;
	left_ms = (watch->deadline_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
	if (patience >= 0 && left_ms > (uint64_t)patience)
		return patience;
	return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

static void sleep_until_event(const struct watch *watch, int patience)
{
	struct pollfd files[] = {
		{.fd = watch->doorbell, .events = POLLIN},
		{.fd = watch->gather ? gather_descriptor(watch->gather) : -1, .events = POLLIN},
		{.fd = watch->live ? live_descriptor(watch->live) : -1, .events = POLLIN},
	};

	/* Do not handle EINTR, because all sources are read after any return of poll(). */
	poll(files, 3, patience);
	signals_drain();
}

/* Read a stop or continuation of the child. Returns its si_code (CLD_...), or 0: no change. */
static int read_change(pid_t child, int kinds, int *stop_signal)
{
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)child, &info, kinds | WNOHANG) || !info.si_pid)
		return 0;
	*stop_signal = info.si_status;
	return info.si_code;
}

/*
 * If job control stopped the child in flamerun's process group, stop flamerun, too, because the
 * shell waits for flamerun to stop. Wait until the child has stopped, instead of stopping at the
 * terminal's SIGTSTP, so that the child has time to restore its screen. If only flamerun is
 * continued, continue the child.
 */
static void stop_with_child(pid_t child, int stop_signal)
{
	const struct timespec moment = {.tv_nsec = NS_PER_MS};
	int ignored;

	if (stop_signal != SIGTSTP && stop_signal != SIGTTIN && stop_signal != SIGTTOU)
		return;
	if (getpgid(child) != getpgrp() || !signals_suspend(stop_signal))
		return;
	for (int i = 0; i < CONTINUE_TRIES; i++) {
		if (read_change(child, WCONTINUED, &ignored))
			goto out;
		nanosleep(&moment, NULL);
	}
	kill(child, SIGCONT);
out:
	signals_read_continue();
}

/*
 * Resume a child that made flamerun its tracer (PTRACE_TRACEME), as programs do to refuse
 * debuggers. Each signal stops such a child until its tracer resumes it, and sampling sends many
 * signals per second.
 */
static void continue_child(pid_t child, int stop_signal)
{
	ptrace(PTRACE_CONT, child, NULL, (void *)(uintptr_t)stop_signal);
}

static void handle_changes(pid_t child)
{
	bool was_continued = false;
	int stop_signal, change, stopped_by = 0;

	while ((change = read_change(child, WSTOPPED | WCONTINUED, &stop_signal))) {
		if (change == CLD_CONTINUED)
			was_continued = true;
		else if (change == CLD_TRAPPED)
			continue_child(child, stop_signal);
		stopped_by = change == CLD_STOPPED ? stop_signal : 0;
	}
	if (signals_read_continue() && !was_continued)
		kill(child, SIGCONT);
	else if (stopped_by)
		stop_with_child(child, stopped_by);
}

/*
 * Reap orphans if flamerun is pid 1 of its pid namespace, as a container's command is. Orphans then
 * become children of flamerun, and no other process can reap them.
 */
static void reap_orphans(pid_t child)
{
	siginfo_t info = {0};

	if (getpid() != 1)
		return;
	while (!waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | WNOHANG) && info.si_pid &&
		info.si_pid != child) {
		waitpid(info.si_pid, NULL, 0);
		info.si_pid = 0;
	}
}

static uint64_t timeval_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_usec * 1000;
}

/*
 * If the child has ended, reap it. Read its CPU clock before reaping, because wait4() returns the
 * sum of its own and its children's time. Stop forwarding signals before reaping, because the pid
 * may be used anew afterwards.
 */
static bool reap_program(struct watch *watch)
{
	siginfo_t info = {0};
	struct rusage usage = {0};
	uint64_t own_ns, all_ns;

	if (waitid(P_PID, (id_t)watch->child, &info, WEXITED | WNOWAIT | WNOHANG) || !info.si_pid)
		return false;
	signals_stop_forwarding();
	own_ns = procfs_cpu_ns((uint32_t)watch->child);
	while (wait4(watch->child, &watch->wait_status, 0, &usage) < 0 && errno == EINTR)
		;
	all_ns = timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime);
	watch->used = (struct accounting_child){
		.pid = (uint32_t)watch->child,
		.cpu_ns = own_ns,
		.children_ns = all_ns > own_ns ? all_ns - own_ns : 0,
		.max_kib = (uint64_t)usage.ru_maxrss,
		.signal = WIFSIGNALED(watch->wait_status) ? (uint32_t)WTERMSIG(watch->wait_status)
							  : 0,
	};
	return true;
}

enum watch_event watch_child(struct watch *watch)
{
	for (;;) {
		sleep_until_event(watch, remaining_ms(watch));
		if (watch->gather)
			report_once(gather_read(watch->gather));
		if (watch->live)
			live_update(watch->live);
		handle_changes(watch->child);
		reap_orphans(watch->child);
		if (reap_program(watch))
			return WATCH_ENDED;
		if (watch->deadline_ns && clock_now_ns() >= watch->deadline_ns)
			return WATCH_DEADLINE;
	}
}

unsigned watch_descendants(const struct watch *watch, unsigned limit_ms)
{
	uint64_t limit_ns = clock_now_ns() + (uint64_t)limit_ms * NS_PER_MS;

	report_once(gather_sync(watch->gather));
	while (gather_count_live(watch->gather) && clock_now_ns() < limit_ns && !signals_hurry()) {
		sleep_until_event(watch, GRACE_TICK_MS);
		report_once(gather_sync(watch->gather));
	}
	return gather_count_live(watch->gather);
}
