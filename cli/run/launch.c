/* SPDX-License-Identifier: MIT */
/*
 * Environment, fork, exec, and the way exec's error comes back.
 */
#include "cli/run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/run/signals.h"

#define PRELOAD "LD_PRELOAD="

static bool same_name(const char *entry, const char *channel)
{
	size_t bytes = strcspn(channel, "=") + 1;

	return !strncmp(entry, channel, bytes);
}

/* Is @library one of the entries of the LD_PRELOAD value @list? */
static bool lists(const char *list, const char *library)
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

static char *preload_entry(const char *library, const char *old)
{
	char *entry = NULL;

	if (old && lists(old, library))
		return asprintf(&entry, PRELOAD "%s", old) < 0 ? NULL : entry;
	if (asprintf(&entry, PRELOAD "%s%s%s", library, old && *old ? ":" : "", old ? old : "") < 0)
		return NULL;
	return entry;
}

/* The first entry is the one we own, the second @channel, then what is kept. */
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
		else if (!same_name(base[i], channel))
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

/* "sh file argument...", as execvp() has it for text without "#!". Owned; NULL without memory. */
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

/* In the child: say that we are there, go on when told to. Whoever is not told ends. */
static void await_admission(int gate)
{
	char word = 0;

	if (write(gate, &word, 1) != 1 || read(gate, &word, 1) != 1)
		_exit(COMMAND_FAILED);
}

static void become(const char *file, char *const *argv, char *const *shell_argv,
	char *const *environment, int report)
{
	int error;

	signals_restore();
	execve(file, argv, environment);
	if (errno == ENOEXEC)
		execve(PREFLIGHT_SHELL, shell_argv, environment);
	error = errno;
	if (write(report, &error, sizeof(error)) < 0) {
		/* the parent is gone: nobody is left to tell */
	}
	_exit(COMMAND_FAILED);
}

/*
 * Wait until exec has closed the pipe, or sent its error.
 * Returns 0 or a positive errno.
 */
static int exec_error(int from)
{
	int error = 0;
	ssize_t bytes;

	do {
		bytes = read(from, &error, sizeof(error));
	} while (bytes < 0 && errno == EINTR);
	return bytes == (ssize_t)sizeof(error) ? error : 0;
}

/* Let somebody look at @child, then let it go on. Returns 0, or -errno with @message filled. */
static int admit(
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

static void reap(pid_t child)
{
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

/* The pipe for exec's error, and the socket pair at which the child waits to be admitted. */
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

static int start(pid_t *child, const struct launch_request *request, char *const *shell_argv,
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
		if (request->tracer > 0) /* refused where nothing forbids to trace */
			prctl(PR_SET_PTRACER, (unsigned long)request->tracer, 0, 0, 0);
		if (request->admit)
			await_admission(gate[1]);
		become(request->program->path, request->argv, shell_argv, environment, report[1]);
	}
	error = *child < 0 ? -errno : 0;
	close(report[1]);
	close(gate[1]);
	refusal = error ? 0 : admit(request, *child, gate[0], message);
	close(gate[0]);
	if (!error && !refusal)
		error = -exec_error(report[0]);
	close(report[0]);
	if (refusal) {
		reap(*child);
		return COMMAND_FAILED;
	}
	if (!error)
		return 0;
	if (*child < 0)
		goto fail;
	reap(*child);
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
		status = start(&started, request, shell_argv, environment, message);
	}
	if (!status)
		*child = started;
	free(shell_argv);
	launch_environment_free(made);
	return status;
}
