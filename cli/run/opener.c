/* SPDX-License-Identifier: MIT */
/*
 * A browser, two forks away: nobody's child, so that nobody has to wait for it.
 */
#include "cli/run/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/signals.h"

#define OPENER    "xdg-open"
#define WORDS_MAX 16

struct command {
	char *words[WORDS_MAX + 2]; /* NULL at the end */
	char *text;                 /* what the words point into; owned */
	char *with_path;            /* a word that had "%s" in it; owned, or NULL */
};

static void command_release(struct command *command)
{
	free(command->text);
	free(command->with_path);
}

/* Put @path where @word has "%s", else leave it. Returns 0 or -ENOMEM. */
static int fill_word(struct command *command, char **word, const char *path)
{
	char *gap = strstr(*word, "%s");

	if (!gap || command->with_path)
		return 0;
	if (asprintf(&command->with_path, "%.*s%s%s", (int)(gap - *word), *word, path, gap + 2) <
		0) {
		command->with_path = NULL;
		return -ENOMEM;
	}
	*word = command->with_path;
	return 0;
}

/* @bytes of @text, cut at blanks, with @path. Returns 0, -ENOENT when there is no word, -ENOMEM. */
static int command_init(struct command *command, const char *text, size_t bytes, const char *path)
{
	size_t count = 0;
	char *rest;

	*command = (struct command){.text = strndup(text, bytes)};
	if (!command->text)
		return -ENOMEM;
	for (char *word = strtok_r(command->text, " \t", &rest); word && count < WORDS_MAX;
		word = strtok_r(NULL, " \t", &rest)) {
		if (fill_word(command, &word, path))
			return -ENOMEM;
		command->words[count++] = word;
	}
	if (!command->with_path)
		command->words[count++] = (char *)path;
	return count > 1 || command->with_path ? 0 : -ENOENT;
}

/* The grandchild: detached from everything, then exec. */
static void become(const struct command *command, int report)
{
	int null = open("/dev/null", O_RDWR);
	int error;

	setsid();
	signals_restore();
	for (int i = STDIN_FILENO; null >= 0 && i <= STDERR_FILENO; i++)
		dup2(null, i);
	/* What our parent left open is not for a browser that lives for days. */
	syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
	execvp(command->words[0], command->words);
	error = errno;
	if (write(report, &error, sizeof(error)) < 0) {
		/* nobody is left to tell */
	}
	_exit(1);
}

/* Returns 0 once exec has succeeded, or -errno. */
static int start(const struct command *command)
{
	int report[2], error = 0;
	ssize_t bytes;
	pid_t child;

	if (pipe2(report, O_CLOEXEC))
		return -errno;
	child = fork();
	if (!child) {
		pid_t grandchild = fork();

		if (!grandchild)
			become(command, report[1]);
		error = errno;
		if (grandchild < 0 && write(report[1], &error, sizeof(error)) < 0)
			_exit(1);
		_exit(0);
	}
	error = child < 0 ? errno : 0;
	close(report[1]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	do {
		int sent = 0;

		bytes = child > 0 ? read(report[0], &sent, sizeof(sent)) : 0;
		error = bytes == (ssize_t)sizeof(sent) ? sent : error;
	} while (bytes < 0 && errno == EINTR);
	close(report[0]);
	return -error;
}

static int try_one(const char *text, size_t bytes, const char *path)
{
	struct command command;
	int error = command_init(&command, text, bytes, path);

	if (!error)
		error = start(&command);
	command_release(&command);
	return error;
}

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

/* The desktop's opener would start nothing, or a browser in a terminal that it does not have. */
static int refuse_blind(const char *path, const char *absolute, struct diag_message *message)
{
	char host[HOST_NAME_MAX + 1] = "";

	gethostname(host, sizeof(host) - 1);
	diag_fail(message, -ENODEV, "cannot show '%s': there is no display here", path);
	diag_fail_hint(message, "where there is one: scp '%s:%s' . and open it in a browser", host,
		absolute);
	return -ENODEV;
}

int opener_start(const char *path, struct diag_message *message)
{
	const char *browsers = getenv("BROWSER");
	const char *list = browsers && *browsers ? browsers : OPENER;
	char absolute[PATH_MAX];
	int error = -ENOENT;

	/* Absolute, it cannot be taken for an option. */
	if (!realpath(path, absolute))
		return diag_fail(message, -errno, "cannot open '%s': %s", path, strerror(errno));
	if (list != browsers && !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY"))
		return refuse_blind(path, absolute, message);
	for (const char *at = list; error && *at;) {
		size_t bytes = strcspn(at, ":");

		error = try_one(at, bytes, absolute);
		at += bytes + (at[bytes] == ':');
	}
	if (!error)
		return 0;
	diag_fail(message, error, "cannot show '%s': %s: %s", path, list, strerror(-error));
	if (list != browsers)
		diag_fail_hint(message, "set BROWSER to a browser, or install xdg-utils");
	return error;
}
