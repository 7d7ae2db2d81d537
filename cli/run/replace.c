/* SPDX-License-Identifier: MIT */
/*
 * Temporary files beside their target, and the rename.
 */
#include "cli/run/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY_TRIES 100
#define COPY_BYTES      65536

/* The temporary file there is right now, "" when there is none. Read by replace_abandon(). */
static char temporary[PATH_MAX];
static volatile sig_atomic_t temporary_exists;

size_t replace_folder_bytes(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) + 1 : 0;
}

/*
 * A file in @target's folder that has no name yet, so that nothing is left of it when we are killed.
 * The kernel gives it the mode that umask and the folder's default ACL leave.
 * Returns its descriptor, or -1 where that is not possible, or could not be named later.
 */
static int create_unnamed(const char *target)
{
	size_t bytes = replace_folder_bytes(target);
	char folder[PATH_MAX], link[32];
	int descriptor;

	if (bytes >= sizeof(folder))
		return -1;
	snprintf(folder, sizeof(folder), "%.*s", bytes ? (int)bytes : 1, bytes ? target : ".");
	descriptor = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
	if (descriptor < 0)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
	if (!access(link, F_OK))
		return descriptor;
	close(descriptor);
	return -1;
}

/* Give @unnamed the name, or make an empty file of it for -1. Returns a descriptor, or -errno. */
static int enter(int unnamed, const char *name)
{
	char link[32];

	if (unnamed < 0) {
		unnamed = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
		return unnamed < 0 ? -errno : unnamed;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", unnamed);
	return linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW) ? -errno : unnamed;
}

/*
 * Have a file beside @target, named ".<name>.XXXXXX": @unnamed, or for -1 a new, empty one.
 * Returns its descriptor and its name in @name, or -errno.
 */
static int create_beside(int unnamed, const char *target, char name[PATH_MAX])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
	size_t folder = replace_folder_bytes(target);

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
		descriptor = enter(unnamed, name);
		if (descriptor != -EEXIST)
			return descriptor;
	}
	return -EEXIST;
}

int replace_prove(const char *target)
{
	char name[PATH_MAX];
	int descriptor = create_beside(-1, target, name);

	if (descriptor < 0)
		return descriptor;
	close(descriptor);
	return unlink(name) ? -errno : 0;
}

void replace_abandon(void)
{
	if (temporary_exists)
		unlink(temporary);
}

int replace_fill(int descriptor, replace_writer writer, void *context)
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

int replace_write(const char *target, replace_writer writer, void *context)
{
	int unnamed = create_unnamed(target);
	int descriptor = unnamed < 0 ? create_beside(-1, target, temporary) : unnamed;
	int error;

	if (descriptor < 0)
		return descriptor;
	temporary_exists = unnamed < 0;
	error = replace_fill(descriptor, writer, context);
	if (!error)
		inherit(descriptor, target);
	if (!error && unnamed >= 0) {
		error = create_beside(unnamed, target, temporary);
		temporary_exists = error >= 0;
		error = error < 0 ? error : 0;
	}
	if (!error) {
		if (!rename(temporary, target))
			temporary_exists = 0;
		else
			error = copy_over(descriptor, target);
	}
	if (temporary_exists)
		unlink(temporary);
	temporary_exists = 0;
	close(descriptor);
	return error;
}
