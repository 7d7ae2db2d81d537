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

static int start(pid_t *child, const struct launch_request *request, char *const *shell_argv,
	char *const *environment, struct diag_message *message)
{
	int report[2];
	int error = 0;

	if (pipe2(report, O_CLOEXEC))
		error = errno;
	else if ((*child = fork()) < 0) {
		error = errno;
		close(report[0]);
		close(report[1]);
	}
	if (error) {
		diag_fail(message, -error, "cannot start a process: %s", strerror(error));
		return COMMAND_FAILED;
	}
	if (!*child)
		become(request->program->path, request->argv, shell_argv, environment, report[1]);
	close(report[1]);
	error = exec_error(report[0]);
	close(report[0]);
	if (!error)
		return 0;
	while (waitpid(*child, NULL, 0) < 0 && errno == EINTR)
		;
	diag_fail(message, -error, "cannot run '%s': %s", request->argv[0], strerror(error));
	return preflight_status(-error);
}

extern char **environ;

int launch(pid_t *child, const struct launch_request *request, struct diag_message *message)
{
	char **environment = launch_environment(environ, request->library, request->channel);
	char **shell_argv = shell_arguments(request->program->path, request->argv);
	pid_t started = -1;
	int status;

	if (!environment || !shell_argv) {
		diag_fail(message, -ENOMEM, "out of memory");
		status = COMMAND_FAILED;
	} else {
		status = start(&started, request, shell_argv, environment, message);
	}
	if (!status)
		*child = started;
	free(shell_argv);
	launch_environment_free(environment);
	return status;
}
