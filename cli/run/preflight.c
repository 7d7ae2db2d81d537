/* SPDX-License-Identifier: MIT */
/*
 * The search of execvp(), without executing. Rules: exec(3), glibc's posix/execvpe.c.
 */
#include "cli/run/preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/run/admission.h"
#include "cli/run/advice.h"
#include "cli/run/privilege.h"
#include "cli/run/walk.h"

#define STATUS_CANNOT_RUN 126
#define STATUS_NOT_FOUND  127

int preflight_status(int error)
{
	switch (error) {
	case -ENOTSUP:
	case -ENOMEM:
		return COMMAND_FAILED;
	case -ENOENT:
		return STATUS_NOT_FOUND;
	default:
		return STATUS_CANNOT_RUN;
	}
}

/* execvp()'s verdict on one candidate: like walk_from(), but text is run by the shell. */
static int try_file(struct walk *walk, struct preflight *out, int directory, const char *file)
{
	int error = walk_from(walk, directory, file);

	out->by_shell = error == -ENOEXEC;
	if (out->by_shell)
		error = walk_from(walk, directory, PREFLIGHT_SHELL);
	strcpy(out->path, file);
	return error;
}

/* Errors after which execvp() looks further along PATH. */
static bool search_goes_on(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -EACCES || error == -EISDIR ||
	       error == -ESTALE || error == -ENODEV || error == -ETIMEDOUT;
}

static int search(struct walk *walk, struct preflight *out, const struct preflight_request *request)
{
	char standard[256] = "/bin:/usr/bin";
	const char *at = request->path;
	int denied = 0;

	if (!at) {
		confstr(_CS_PATH, standard, sizeof(standard));
		at = standard;
	}
	for (;; at++) {
		size_t bytes = strcspn(at, ":");
		char file[PATH_MAX];
		int error = -ENOENT;

		if (bytes + 1 + strlen(request->program) < sizeof(file)) {
			snprintf(file, sizeof(file), "%.*s%s%s", (int)bytes, at, bytes ? "/" : "",
				request->program);
			error = try_file(walk, out, request->directory, file);
		}
		if (!search_goes_on(error))
			return error;
		if (error == -EACCES || error == -EISDIR)
			denied = error;
		at += bytes;
		if (!*at)
			return denied ? denied : -ENOENT;
	}
}

static int find(struct walk *walk, struct preflight *out, const struct preflight_request *request)
{
	if (!request->program[0])
		return -ENOENT;
	if (strlen(request->program) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (strchr(request->program, '/'))
		return try_file(walk, out, request->directory, request->program);
	return search(walk, out, request);
}

static int admit(const struct walk *walk, struct preflight *out, struct diag_message *message)
{
	int descriptor = openat(walk->directory, walk->file, O_RDONLY | O_CLOEXEC);
	struct diag_message reason = {0};
	struct privilege_self self;
	enum admission_way way;
	int error;

	if (descriptor < 0)
		return 0; /* executable but not readable: nothing can be said about it */
	privilege_read_self(&self);
	error = admission_check(descriptor, walk->file, &self, &way, &reason);
	close(descriptor);
	if (error == -ENOTSUP && way == ADMISSION_OUTSIDE) {
		out->by_tracer = true;
		strcpy(out->why, reason.text);
		return 0;
	}
	if (error && message)
		*message = reason;
	return error;
}

/*
 * The program "#!/usr/bin/env [-S] program" will look up, copied to @program: "" when it takes more
 * than cutting at blanks to know it.
 */
static void env_program(const char *argument, char program[WALK_FIRST_BYTES + 1])
{
	const char *word = argument;

	program[0] = '\0';
	if (strpbrk(argument, "\"'\\$"))
		return;
	if (!strncmp(word, "-S", 2))
		word += 2;
	while (*(word += strspn(word, " \t"))) {
		size_t bytes = strcspn(word, " \t");

		/* An option might take the next word as its value. */
		if (word[0] == '-')
			return;
		if (!memchr(word, '=', bytes)) {
			memcpy(program, word, bytes);
			program[bytes] = '\0';
			return;
		}
		word += bytes;
	}
}

/* env itself reports what it cannot find; only what it would run, we could not enter, counts. */
static int admit_behind_env(const struct walk *walk, struct preflight *out,
	const struct preflight_request *request, struct diag_message *message)
{
	struct preflight_request behind = *request;
	struct walk *next = malloc(sizeof(*next));
	struct preflight *found = malloc(sizeof(*found));
	char program[WALK_FIRST_BYTES + 1];
	int error = 0;

	env_program(walk->env_argument, program);
	behind.program = program;
	if (!next || !found)
		error = diag_fail(message, -ENOMEM, "out of memory");
	else if (program[0] && !find(next, found, &behind))
		error = admit(next, out, message);
	free(next);
	free(found);
	return error == -ENOEXEC ? 0 : error;
}

/* The sentence for a program that cannot be executed, with the interpreter if that is the cause. */
static int explain(int error, const struct walk *walk, const struct preflight *out,
	const struct preflight_request *request, struct diag_message *message)
{
	const struct advice_request advice = {.program = request->program,
		.path = request->path,
		.shell = getenv("SHELL"),
		.directory = request->directory};

	if (walk->file[0] && out->path[0] && strcmp(walk->file, out->path)) {
		diag_fail(message, error, "cannot run '%s': its interpreter '%s': %s",
			request->program, walk->file, strerror(-error));
		if (error == -ENOENT && strchr(walk->file, '\r'))
			diag_fail_hint(message,
				"its first line ends as on Windows: sed -i 's/\\r$//' '%s'",
				out->path);
		return error;
	}
	diag_fail(message, error, "cannot run '%s': %s", request->program, strerror(-error));
	advice_give(&advice, error, message);
	return error;
}

int preflight(struct preflight *out, const struct preflight_request *request,
	struct diag_message *message)
{
	struct preflight *found = calloc(1, sizeof(*found));
	struct walk *walk = calloc(1, sizeof(*walk));
	int error;

	if (!found || !walk) {
		error = diag_fail(message, -ENOMEM, "out of memory");
		goto out;
	}
	error = find(walk, found, request);
	if (error) {
		explain(error, walk, found, request, message);
		goto out;
	}
	error = admit(walk, found, message);
	if (!error && walk->env_argument[0])
		error = admit_behind_env(walk, found, request, message);
	if (!error)
		*out = *found;
out:
	free(walk);
	free(found);
	return error;
}
