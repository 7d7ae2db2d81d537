/* SPDX-License-Identifier: MIT */
/*
 * Read perf.data through `perf script`, which is started without a shell. The output is read while
 * perf runs. If perf fails, the last line of its stderr is reported.
 */
#include "cli/formats/perf_script.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* First bytes of a recording. */
#define MAGIC "PERFILE2"

extern char **environ;

struct perf_child {
	pid_t pid;
	FILE *out;
	FILE *errors; /* its stderr, a temporary file */
};

bool perf_data_is(FILE *in)
{
	char magic[sizeof(MAGIC) - 1];

	/* Use pread(), which fails on pipes: reading their first bytes would consume them. */
	return pread(fileno(in), magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       !memcmp(magic, MAGIC, sizeof(magic));
}

static int start(struct perf_child *child, const char *path, int out)
{
	/* @path may begin with '-', because it is the argument of -i. */
	const char *const words[] = {"perf", "script", "--ns", "-F", "+pid", "-i", path, NULL};
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return -error;
	error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, out, 1);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, fileno(child->errors), 2);
	if (!error)
		error = posix_spawnp(&child->pid, words[0], &actions, NULL,
			(char *const *)(uintptr_t)words, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -error;
}

static int open_child(struct perf_child *child, const char *path)
{
	int ends[2], error;

	*child = (struct perf_child){.errors = tmpfile()};
	if (!child->errors)
		return -errno;
	if (pipe2(ends, O_CLOEXEC)) {
		error = -errno;
	} else {
		error = start(child, path, ends[1]);
		close(ends[1]);
		child->out = error ? NULL : fdopen(ends[0], "r");
		if (!error && !child->out)
			error = -errno;
		if (!child->out)
			close(ends[0]);
	}
	return error;
}

/* Returns 0, or -EIO if perf failed, with the last line of its stderr in @message. */
static int close_child(
	struct perf_child *child, const char *path, struct diag_message *message)
{
	char line[256], last[256] = "";
	int status = 0;

	if (child->out)
		fclose(child->out);
	if (child->pid > 0)
		while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
			;
	if (!child->pid || (WIFEXITED(status) && !WEXITSTATUS(status)))
		status = 0;
	rewind(child->errors);
	while (status && fgets(line, sizeof(line), child->errors))
		if (line[strspn(line, " \t\n")])
			strcpy(last, line);
	fclose(child->errors);
	if (!status)
		return 0;
	last[strcspn(last, "\n")] = '\0';
	diag_fail(message, -EIO, "cannot read '%s': perf script failed%s%s", path,
		*last ? ": " : "", last);
	return -EIO;
}

static int fail_start(const char *path, int error, struct diag_message *message)
{
	if (error != -ENOENT)
		return diag_fail(message, error, "cannot read '%s': cannot start perf: %s", path,
			strerror(-error));
	diag_fail(message, error, "cannot read '%s': it is a recording of perf, which is not here",
		path);
	diag_fail_hint(message, "install perf, or where it is: perf script -i FILE > FILE.txt");
	return error;
}

int perf_data_read(struct calltree **tree, const char *path, const char *event,
	struct input_facts *facts, struct diag_message *message)
{
	struct perf_child child;
	struct diag_message failed = {0};
	struct lines lines;
	int error, status;

	error = open_child(&child, path);
	if (error) {
		if (child.errors)
			close_child(&child, path, NULL);
		return fail_start(path, error, message);
	}
	progress_begin("perf reads '%s'", path);
	lines = (struct lines){.in = child.out};
	error = perf_script_read(tree, &lines, path, event, facts, &failed);
	lines_release(&lines);
	progress_end();
	/* Report an error of perf_script_read() or, if there is none, a failure of perf. */
	status = close_child(&child, path, error ? NULL : message);
	if (error && message)
		*message = failed;
	return error ? error : status;
}
