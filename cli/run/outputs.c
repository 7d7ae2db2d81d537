/* SPDX-License-Identifier: MIT */
/*
 * Where outputs go: links followed, devices and pipes opened, the rest proven and later replaced.
 */
#include "cli/run/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as many as the kernel follows */

struct output {
	const char *path;      /* as it was given; borrowed */
	char target[PATH_MAX]; /* behind all symbolic links */
	int in_place;          /* descriptor, or -1: write a temporary file, then rename */
	bool is_renamed;       /* not proven yet under its last name */
};

struct outputs {
	unsigned count;
	struct output list[];
};

/*
 * Follow symbolic links at the end of @path, also one that points to nothing yet.
 * Returns 0 and the name behind them in @target, or -errno.
 */
static int follow_links(const char *path, char target[PATH_MAX])
{
	char link[PATH_MAX];

	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(target, path);
	for (int i = 0; i < LINKS_MAX; i++) {
		ssize_t bytes = readlink(target, link, sizeof(link) - 1);
		size_t keep = replace_folder_bytes(target);

		if (bytes < 0) /* no link, or nothing there: opening it will tell */
			return errno == EINVAL || errno == ENOENT ? 0 : -errno;
		link[bytes] = '\0';
		if (link[0] == '/')
			keep = 0;
		if (keep + (size_t)bytes >= PATH_MAX)
			return -ENAMETOOLONG;
		strcpy(target + keep, link);
	}
	return -ELOOP;
}

/* /dev/stdout, /dev/fd/N and the like name a descriptor we have: its number, or -1. */
static int named_descriptor(const char *path)
{
	static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
	char *end;
	long number;

	if (!strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		size_t bytes = strlen(folders[i]);

		if (strncmp(path, folders[i], bytes))
			continue;
		number = strtol(path + bytes, &end, 10);
		return path[bytes] && !*end && number >= 0 && number <= INT_MAX ? (int)number : -1;
	}
	return -1;
}

static int duplicate(int descriptor)
{
	int flags = fcntl(descriptor, F_GETFL);
	int copy;

	if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	copy = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return copy < 0 ? -errno : copy;
}

/*
 * O_NONBLOCK only for the open: a FIFO that nobody reads is an error now, not a wait before the
 * program starts.
 */
static int open_in_place(const char *path)
{
	int descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (descriptor < 0)
		return -errno;
	fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
	return descriptor;
}

static int prove(struct output *output)
{
	int descriptor = named_descriptor(output->path);
	struct stat now;
	int error;

	if (descriptor >= 0)
		return output->in_place = duplicate(descriptor);
	if (!stat(output->path, &now) && !S_ISREG(now.st_mode)) {
		if (S_ISDIR(now.st_mode))
			return -EISDIR;
		return output->in_place = open_in_place(output->path);
	}
	error = follow_links(output->path, output->target);
	if (error)
		return error;
	if (!access(output->target, F_OK)) {
		if (access(output->target, W_OK))
			return -errno;
		error = replace_prove(output->target);
		return error ? output->in_place = open_in_place(output->target) : 0;
	}
	if (!output->target[replace_folder_bytes(output->target)])
		return output->target[0] ? -EISDIR : -ENOENT;
	return replace_prove(output->target);
}

/* Two names of one file: the second would silently replace the first. */
static bool repeated(const struct outputs *outputs, const struct output *output)
{
	for (unsigned i = 0; i < outputs->count; i++)
		if (output->target[0] && !strcmp(outputs->list[i].target, output->target))
			return true;
	return false;
}

static const char *reason(int error)
{
	if (error == -ENXIO)
		return "nobody reads from it";
	return strerror(-error);
}

/* In some, as /proc, no file can be made; that is ENOENT, too. */
static bool has_folder(const char *path)
{
	char folder[PATH_MAX];
	int bytes = snprintf(folder, sizeof(folder), "%.*s", (int)replace_folder_bytes(path), path);

	return bytes < (int)sizeof(folder) && !access(folder, F_OK);
}

/* Before anything has started: there is time to name another place. */
static void refuse(const struct output *output, int error, struct diag_message *message)
{
	size_t folder_bytes = replace_folder_bytes(output->path);

	diag_fail(message, error, "cannot write '%s': %s", output->path, reason(error));
	if (error == -ENOENT && folder_bytes > 1 && !has_folder(output->path))
		diag_fail_hint(message, "the folder comes first: mkdir -p '%.*s'",
			(int)folder_bytes - 1, output->path);
	else if (error == -ENOENT || error == -EACCES || error == -EROFS || error == -EPERM)
		diag_fail_hint(message, "-o names another place: -o /tmp/%s",
			output->path + folder_bytes);
}

int outputs_open(struct outputs **out, const char *const *paths, unsigned count,
	struct diag_message *message)
{
	struct outputs *outputs = calloc(1, sizeof(*outputs) + count * sizeof(outputs->list[0]));

	if (!outputs)
		return diag_fail(message, -ENOMEM, "out of memory");
	for (; outputs->count < count; outputs->count++) {
		struct output *output = &outputs->list[outputs->count];
		int error;

		output->path = paths[outputs->count];
		output->in_place = -1;
		error = prove(output);
		if (error < 0) {
			refuse(output, error, message);
			outputs_free(outputs);
			return error;
		}
		if (repeated(outputs, output)) {
			error = diag_fail(message, -EINVAL, "'%s' is written twice", output->path);
			outputs_free(outputs);
			return error;
		}
	}
	*out = outputs;
	return 0;
}

void outputs_free(struct outputs *outputs)
{
	if (!outputs)
		return;
	for (unsigned i = 0; i < outputs->count; i++)
		if (outputs->list[i].in_place >= 0)
			close(outputs->list[i].in_place);
	free(outputs);
}

void outputs_rename(struct outputs *outputs, unsigned index, const char *path)
{
	struct output *output = &outputs->list[index];

	if (output->in_place >= 0)
		close(output->in_place);
	*output = (struct output){.path = path, .in_place = -1, .is_renamed = true};
}

bool outputs_is_file(const struct outputs *outputs, unsigned index)
{
	const struct output *output = &outputs->list[index];
	struct stat now;

	return output->in_place < 0 ||
	       (output->target[0] && !fstat(output->in_place, &now) && S_ISREG(now.st_mode));
}

int outputs_write(struct outputs *outputs, unsigned index, replace_writer writer, void *context,
	struct diag_message *message)
{
	struct output *output = &outputs->list[index];
	int error = output->is_renamed ? prove(output) : 0;

	if (error < 0) {
		/* what a program has made of the name meanwhile */
	} else if (output->in_place >= 0) {
		struct stat now;

		/* Devices and pipes have no length to cut; a shared stdout is appended to. */
		if (output->target[0] && !fstat(output->in_place, &now) && S_ISREG(now.st_mode) &&
			ftruncate(output->in_place, 0))
			error = -errno;
		else
			error = replace_fill(output->in_place, writer, context);
	} else {
		error = replace_write(output->target, writer, context);
	}
	if (error < 0)
		return diag_fail(message, error, "cannot write '%s': %s", output->path,
			reason(error));
	return 0;
}
