/* SPDX-License-Identifier: MIT */
/*
 * The search of execvp() and the kernel's way through "#!" lines, walked without executing. Rules:
 * exec(3), glibc's posix/execvpe.c; execve(2), the kernel's fs/binfmt_script.c.
 */
#include "cli/run/preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run/admission.h"
#include "cli/run/privilege.h"

#define SHELL             "/bin/sh"
#define FIRST_BYTES       256 /* BINPRM_BUF_SIZE: what the kernel reads of a file to judge it */
#define INTERPRETERS_MAX  5
#define STATUS_OURS       125
#define STATUS_CANNOT_RUN 126
#define STATUS_NOT_FOUND  127

/* One walk from a file to the ELF file that will run. */
struct walk {
	int directory;
	char file[PATH_MAX]; /* where the walk is: at its end the ELF file, or the one that failed */
	char first[FIRST_BYTES + 1];
	char env_argument[FIRST_BYTES + 1]; /* what "#!/usr/bin/env ..." was given, or "" */
};

int preflight_status(int error)
{
	switch (error) {
	case -ENOTSUP:
	case -ENOMEM:
		return STATUS_OURS;
	case -ENOENT:
		return STATUS_NOT_FOUND;
	default:
		return STATUS_CANNOT_RUN;
	}
}

/*
 * Read the beginning of walk->file, which must be executable.
 * Returns how many bytes, or -errno as execve() would. -EBADF: executable but not readable.
 */
static int read_first(struct walk *walk)
{
	/* With equal ids plain access() says the same; some sandboxes refuse faccessat2(). */
	int how = getuid() == geteuid() && getgid() == getegid() ? 0 : AT_EACCESS;
	struct stat status;
	ssize_t bytes;
	int descriptor;

	if (fstatat(walk->directory, walk->file, &status, 0))
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	if (!S_ISREG(status.st_mode))
		return -EACCES;
	if (faccessat(walk->directory, walk->file, X_OK, how))
		return -errno;
	descriptor = openat(walk->directory, walk->file, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return errno == EACCES ? -EBADF : -errno;
	bytes = read(descriptor, walk->first, FIRST_BYTES);
	close(descriptor);
	if (bytes < 0)
		return -EIO;
	memset(walk->first + bytes, 0, sizeof(walk->first) - (size_t)bytes);
	return (int)bytes;
}

/*
 * Split "#! interpreter argument" as the kernel does: one argument, blanks around it cut off.
 * Returns 0 with walk->file set to the interpreter, or -ENOEXEC.
 */
static int take_interpreter(struct walk *walk)
{
	char *line = walk->first + 2;
	char *name = line + strspn(line, " \t");
	char *newline = strchr(line, '\n');
	size_t name_bytes, bytes;
	const char *base, *argument;

	if (newline)
		*newline = '\0';
	name_bytes = strcspn(name, " \t");
	/* A line that fills the kernel's buffer may have lost the end of its interpreter's name. */
	if (!name_bytes || (!newline && name + name_bytes == walk->first + FIRST_BYTES))
		return -ENOEXEC;
	argument = name + name_bytes + strspn(name + name_bytes, " \t");
	bytes = strlen(argument);
	while (bytes && strchr(" \t", argument[bytes - 1]))
		bytes--;
	memcpy(walk->file, name, name_bytes);
	walk->file[name_bytes] = '\0';
	base = strrchr(walk->file, '/');
	base = base ? base + 1 : walk->file;
	if (!strcmp(base, "env"))
		snprintf(walk->env_argument, sizeof(walk->env_argument), "%.*s", (int)bytes,
			argument);
	return 0;
}

/*
 * Go from @file through its interpreters.
 * Returns 0 at an ELF file or at one that cannot be read; -ENOEXEC when the kernel knows no way to
 * run @file; otherwise -errno, walk->file naming the file that is the cause.
 */
static int walk_from(struct walk *walk, int directory, const char *file)
{
	walk->directory = directory;
	walk->env_argument[0] = '\0';
	if (strlen(file) >= sizeof(walk->file))
		return -ENAMETOOLONG;
	strcpy(walk->file, file);
	for (int depth = 0; depth <= INTERPRETERS_MAX; depth++) {
		int bytes = read_first(walk);
		int error;

		if (bytes < 0)
			return bytes == -EBADF ? 0 : bytes;
		if (bytes >= 4 && !memcmp(walk->first, "\177ELF", 4))
			return 0;
		if (bytes < 2 || memcmp(walk->first, "#!", 2))
			return -ENOEXEC;
		error = take_interpreter(walk);
		if (error)
			return error;
	}
	return -ELOOP;
}

/* execvp()'s verdict on one candidate: like walk_from(), but text is run by the shell. */
static int try_file(struct walk *walk, struct preflight *out, int directory, const char *file)
{
	int error = walk_from(walk, directory, file);

	out->by_shell = error == -ENOEXEC;
	if (out->by_shell)
		error = walk_from(walk, directory, SHELL);
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

static int admit(const struct walk *walk, struct diag_message *message)
{
	int descriptor = openat(walk->directory, walk->file, O_RDONLY | O_CLOEXEC);
	struct privilege_self self;
	int error;

	if (descriptor < 0)
		return 0; /* executable but not readable: nothing can be said about it */
	privilege_read_self(&self);
	error = admission_check(descriptor, walk->file, &self, message);
	close(descriptor);
	return error;
}

/*
 * The program "#!/usr/bin/env [-S] program" will look up, copied to @program: "" when it takes more
 * than cutting at blanks to know it.
 */
static void env_program(const char *argument, char program[FIRST_BYTES + 1])
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
static int admit_behind_env(const struct walk *walk, const struct preflight_request *request,
	struct diag_message *message)
{
	struct preflight_request behind = *request;
	struct walk *next = malloc(sizeof(*next));
	struct preflight *found = malloc(sizeof(*found));
	char program[FIRST_BYTES + 1];
	int error = 0;

	env_program(walk->env_argument, program);
	behind.program = program;
	if (!next || !found)
		error = diag_fail(message, -ENOMEM, "out of memory");
	else if (program[0] && !find(next, found, &behind))
		error = admit(next, message);
	free(next);
	free(found);
	return error == -ENOEXEC ? 0 : error;
}

/* The sentence for a program that cannot be executed, with the interpreter if that is the cause. */
static int explain(int error, const struct walk *walk, const struct preflight *out,
	const struct preflight_request *request, struct diag_message *message)
{
	char here[PATH_MAX + 2];
	struct stat status;

	if (walk->file[0] && out->path[0] && strcmp(walk->file, out->path))
		return diag_fail(message, error, "cannot run '%s': its interpreter '%s': %s",
			request->program, walk->file, strerror(-error));
	diag_fail(message, error, "cannot run '%s': %s", request->program, strerror(-error));
	snprintf(here, sizeof(here), "./%s", request->program);
	if (error == -ENOENT && request->program[0] && !strchr(request->program, '/') &&
		!fstatat(request->directory, here, &status, 0) && S_ISREG(status.st_mode) &&
		(status.st_mode & 0111))
		diag_fail_hint(message, "it is not in PATH; to run the one here: '%s'", here);
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
	error = admit(walk, message);
	if (!error && walk->env_argument[0])
		error = admit_behind_env(walk, request, message);
	if (!error)
		*out = *found;
out:
	free(walk);
	free(found);
	return error;
}
