/* SPDX-License-Identifier: MIT */
/*
 * The search of execvp(), without executing. Rules: exec(3), glibc's posix/execvpe.c.
 */
#include "cli/run/preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/run/admission.h"
#include "cli/run/advice.h"

#define FIRST_BYTES 256 /* BINPRM_BUF_SIZE: what the kernel reads of a file to judge it */

struct executable {
	int directory;	     /* what relative names are relative to */
	char file[PATH_MAX]; /* at the end: the ELF file, or the one that is the cause of an error
			      */
	char first[FIRST_BYTES + 1]; /* its beginning */
};

#define INTERPRETERS_MAX 5

/*
 * Read the beginning of executable->file, which must be executable.
 * Returns how many bytes, or -errno as execve() would. -EBADF: executable but not readable.
 */
static int read_first(struct executable *executable)
{
	/* With equal ids plain access() says the same; some sandboxes refuse faccessat2(). */
	int how = getuid() == geteuid() && getgid() == getegid() ? 0 : AT_EACCESS;
	struct stat status;
	ssize_t bytes;
	int descriptor;

	if (fstatat(executable->directory, executable->file, &status, 0))
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	if (!S_ISREG(status.st_mode))
		return -EACCES;
	if (faccessat(executable->directory, executable->file, X_OK, how))
		return -errno;
	descriptor = openat(executable->directory, executable->file, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return errno == EACCES ? -EBADF : -errno;
	bytes = read(descriptor, executable->first, FIRST_BYTES);
	close(descriptor);
	if (bytes < 0)
		return -EIO;
	memset(executable->first + bytes, 0, sizeof(executable->first) - (size_t)bytes);
	return (int)bytes;
}

/*
 * Cut the interpreter's name out of "#! interpreter argument" as the kernel does.
 * Returns 0 with executable->file set to it, or -ENOEXEC.
 */
static int read_interpreter(struct executable *executable)
{
	char *line = executable->first + 2;
	char *name = line + strspn(line, " \t");
	size_t name_bytes = strcspn(name, " \t\n");

	/* A line that fills the kernel's buffer may have lost the end of its interpreter's name. */
	if (!name_bytes || name + name_bytes == executable->first + FIRST_BYTES)
		return -ENOEXEC;
	memcpy(executable->file, name, name_bytes);
	executable->file[name_bytes] = '\0';
	return 0;
}

/*
 * Go from @file, relative to @directory. @executable need not be initialised.
 *
 * Returns 0 at an ELF file or at one that can be executed but not read; -ENOEXEC when the kernel
 * knows no way to run it; otherwise -errno, as execve() would (-EISDIR for a folder).
 */
static int follow_interpreters(struct executable *executable, int directory, const char *file)
{
	executable->directory = directory;
	if (strlen(file) >= sizeof(executable->file))
		return -ENAMETOOLONG;
	strcpy(executable->file, file);
	for (int depth = 0; depth <= INTERPRETERS_MAX; depth++) {
		int bytes = read_first(executable);
		int error;

		if (bytes < 0)
			return bytes == -EBADF ? 0 : bytes;
		if (bytes >= 4 && !memcmp(executable->first, "\177ELF", 4))
			return 0;
		if (bytes < 2 || memcmp(executable->first, "#!", 2))
			return -ENOEXEC;
		error = read_interpreter(executable);
		if (error)
			return error;
	}
	return -ELOOP;
}

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

/* execvp()'s verdict on one candidate: like follow_interpreters(), but text is run by the shell. */
static int try_file(
	struct executable *executable, struct preflight *out, int directory, const char *file)
{
	int error = follow_interpreters(executable, directory, file);

	out->by_shell = error == -ENOEXEC;
	if (out->by_shell)
		error = follow_interpreters(executable, directory, PREFLIGHT_SHELL);
	strcpy(out->path, file);
	return error;
}

/* Errors after which execvp() looks further along PATH. */
static bool search_goes_on(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -EACCES || error == -EISDIR ||
	       error == -ESTALE || error == -ENODEV || error == -ETIMEDOUT;
}

static int search_path(struct executable *executable, struct preflight *out,
	const struct preflight_request *request)
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
			error = try_file(executable, out, request->directory, file);
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

static int find_program(struct executable *executable, struct preflight *out,
	const struct preflight_request *request)
{
	if (!request->program[0])
		return -ENOENT;
	if (strlen(request->program) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (strchr(request->program, '/'))
		return try_file(executable, out, request->directory, request->program);
	return search_path(executable, out, request);
}

static int check_admission(
	const struct executable *executable, struct preflight *out, struct diag_message *message)
{
	int descriptor = openat(executable->directory, executable->file, O_RDONLY | O_CLOEXEC);
	struct diag_message reason = {0};
	struct privilege_self self;
	enum admission_way way;
	int error;

	if (descriptor < 0)
		return 0; /* executable but not readable: nothing can be said about it */
	privilege_read_self(&self);
	error = admission_check(descriptor, executable->file, &self, &way, &reason);
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

/* The sentence for a program that cannot be executed, with the interpreter if that is the cause. */
static int explain_error(int error, const struct executable *executable,
	const struct preflight *out, const struct preflight_request *request,
	struct diag_message *message)
{
	const struct advice_request advice = {.program = request->program,
		.path = request->path,
		.shell = getenv("SHELL"),
		.directory = request->directory};

	if (executable->file[0] && out->path[0] && strcmp(executable->file, out->path)) {
		diag_fail(message, error, "cannot run '%s': its interpreter '%s': %s",
			request->program, executable->file, strerror(-error));
		if (error == -ENOENT && strchr(executable->file, '\r'))
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
	struct executable *executable = calloc(1, sizeof(*executable));
	int error;

	if (!found || !executable) {
		error = diag_fail(message, -ENOMEM, "out of memory");
		goto out;
	}
	error = find_program(executable, found, request);
	if (error) {
		explain_error(error, executable, found, request, message);
		goto out;
	}
	error = check_admission(executable, found, message);
	if (!error)
		*out = *found;
out:
	free(executable);
	free(found);
	return error;
}
