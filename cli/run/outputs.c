/* SPDX-License-Identifier: MIT */
/*
 * Output files, from the proof that they can be written to the rename.
 */
#include "cli/run/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX      40 /* as many as the kernel follows */
#define TEMPORARY_TRIES 100
#define COPY_BYTES     65536

struct output {
	const char *path;      /* as it was given; borrowed */
	char target[PATH_MAX]; /* behind all symbolic links */
	int in_place;          /* descriptor, or -1: write a temporary file, then rename */
};

struct outputs {
	unsigned count;
	struct output list[];
};

/* The temporary file there is right now, "" when there is none. Read by outputs_abandon(). */
static char temporary[PATH_MAX];
static volatile sig_atomic_t temporary_exists;

static size_t directory_bytes(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) + 1 : 0;
}

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
		size_t keep = directory_bytes(target);

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

/*
 * Make an empty file beside @target, named ".<name>.XXXXXX". The kernel gives it the mode that
 * umask and the folder's default ACL leave.
 * Returns its descriptor and its name in @name, or -errno.
 */
static int create_beside(const char *target, char name[PATH_MAX])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
	size_t folder = directory_bytes(target);

	for (int i = 0; i < TEMPORARY_TRIES; i++) {
		unsigned char random[6];
		char suffix[sizeof(random) + 1] = "";
		int descriptor, bytes;

		if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return -EIO;
		for (size_t j = 0; j < sizeof(random); j++)
			suffix[j] = letters[random[j] % 32];
		/* 200: what is added stays within the 255 bytes a name may have. */
		bytes = snprintf(name, PATH_MAX, "%.*s.%.200s.%s", (int)folder, target,
			target + folder, suffix);
		if (bytes >= PATH_MAX)
			return -ENAMETOOLONG;
		descriptor = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
		if (descriptor >= 0 || errno != EEXIST)
			return descriptor >= 0 ? descriptor : -errno;
	}
	return -EEXIST;
}

/* Can a file be made beside @target? It is gone again when this returns. */
static int prove_folder(const char *target)
{
	char name[PATH_MAX];
	int descriptor = create_beside(target, name);

	if (descriptor < 0)
		return descriptor;
	close(descriptor);
	return unlink(name) ? -errno : 0;
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
		error = prove_folder(output->target);
		return error ? output->in_place = open_in_place(output->target) : 0;
	}
	if (!output->target[directory_bytes(output->target)])
		return output->target[0] ? -EISDIR : -ENOENT;
	return prove_folder(output->target);
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
			diag_fail(message, error, "cannot write '%s': %s", output->path,
				reason(error));
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

void outputs_abandon(void)
{
	if (temporary_exists)
		unlink(temporary);
}

/* Call @writer with a stream on @descriptor, which stays open. */
static int fill(int descriptor, outputs_writer writer, void *context)
{
	int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	FILE *file;
	int error;

	if (copy < 0)
		return -errno;
	file = fdopen(copy, "w");
	if (!file) {
		error = -errno;
		close(copy);
		return error;
	}
	error = writer(context, file);
	/* A stream that failed earlier says so here; some disks say "full" only at close. */
	if (ferror(file) && !error)
		error = -EIO;
	if (fclose(file) && (!error || error == -EIO))
		error = -errno;
	return error;
}

/* A replaced file keeps its mode, and its owner where we may give files away. */
static void inherit(int descriptor, const char *target)
{
	struct stat old, new;

	if (stat(target, &old) || fstat(descriptor, &new))
		return;
	if (old.st_uid != new.st_uid || old.st_gid != new.st_gid)
		if (fchown(descriptor, old.st_uid, old.st_gid))
			return; /* somebody else's mode is not for our file */
	fchmod(descriptor, old.st_mode & 0777);
}

/* A target that rename cannot replace (a mount point, a sticky folder) is overwritten. */
static int copy_over(int from, const char *target)
{
	static char bytes[COPY_BYTES];
	int to = open(target, O_WRONLY | O_TRUNC | O_CLOEXEC);
	off_t at = 0;
	ssize_t have;
	int error = 0;

	if (to < 0)
		return -errno;
	while (!error && (have = pread(from, bytes, sizeof(bytes), at)) != 0) {
		ssize_t put = have < 0 ? -1 : write(to, bytes, (size_t)have);

		if (put < 0)
			error = -errno;
		else
			at += put;
	}
	if (close(to) && !error)
		error = -errno;
	return error;
}

static int write_and_rename(const struct output *output, outputs_writer writer, void *context)
{
	int descriptor = create_beside(output->target, temporary);
	int error;

	if (descriptor < 0)
		return descriptor;
	temporary_exists = 1;
	error = fill(descriptor, writer, context);
	if (!error) {
		inherit(descriptor, output->target);
		if (!rename(temporary, output->target))
			temporary_exists = 0;
		else
			error = copy_over(descriptor, output->target);
	}
	if (temporary_exists)
		unlink(temporary);
	temporary_exists = 0;
	close(descriptor);
	return error;
}

int outputs_write(struct outputs *outputs, unsigned index, outputs_writer writer, void *context,
	struct diag_message *message)
{
	struct output *output = &outputs->list[index];
	int error;

	if (output->in_place >= 0) {
		struct stat now;

		/* Devices and pipes have no length to cut; a shared stdout is appended to. */
		if (output->target[0] && !fstat(output->in_place, &now) && S_ISREG(now.st_mode) &&
			ftruncate(output->in_place, 0))
			error = -errno;
		else
			error = fill(output->in_place, writer, context);
	} else {
		error = write_and_rename(output, writer, context);
	}
	if (error)
		return diag_fail(message, error, "cannot write '%s': %s", output->path,
			strerror(-error));
	return 0;
}
