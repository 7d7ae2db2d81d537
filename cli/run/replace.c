/* SPDX-License-Identifier: MIT */
/*
 * Temporary files beside their target, and the rename.
 */
#include "cli/run/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY_TRIES 100
#define COPY_BYTES      65536

/* The temporary file there is right now, and its folder. Read by replace_abandon(). */
static int temporary_folder;
static char temporary[NAME_MAX + 1];
static volatile sig_atomic_t temporary_exists;

/*
 * A file in @target's folder that has no name yet, so that nothing is left of it when we are killed.
 * The kernel gives it the mode that umask and the folder's default ACL leave.
 * Returns its descriptor, or -1 where that is not possible, or could not be named later.
 */
static int create_unnamed(const struct followed *target)
{
	int descriptor = openat(target->folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
	char link[32];

	if (descriptor < 0)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
	if (!access(link, F_OK))
		return descriptor;
	close(descriptor);
	return -1;
}

/* Give @unnamed the name, or make an empty file of it for -1. Returns a descriptor, or -errno. */
static int enter(int unnamed, int folder, const char *name)
{
	char link[32];

	if (unnamed < 0) {
		unnamed = openat(
			folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
		return unnamed < 0 ? -errno : unnamed;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", unnamed);
	return linkat(AT_FDCWD, link, folder, name, AT_SYMLINK_FOLLOW) ? -errno : unnamed;
}

/*
 * Have a file beside @target, named ".<name>.XXXXXX": @unnamed, or for -1 a new, empty one.
 * Returns its descriptor and its name in @name, or -errno.
 */
static int create_beside(int unnamed, const struct followed *target, char name[NAME_MAX + 1])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";

	for (int i = 0; i < TEMPORARY_TRIES; i++) {
		unsigned char random[6];
		char suffix[sizeof(random) + 1] = "";
		int descriptor;

		if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return -EIO;
		for (size_t j = 0; j < sizeof(random); j++)
			suffix[j] = letters[random[j] % 32];
		/* 200: what is added stays within the 255 bytes a name may have. */
		snprintf(name, NAME_MAX + 1, ".%.200s.%s", target->name, suffix);
		descriptor = enter(unnamed, target->folder, name);
		if (descriptor != -EEXIST)
			return descriptor;
	}
	return -EEXIST;
}

int replace_prove(const struct followed *target)
{
	char name[NAME_MAX + 1];
	int descriptor = create_beside(-1, target, name);

	if (descriptor < 0)
		return descriptor;
	close(descriptor);
	return unlinkat(target->folder, name, 0) ? -errno : 0;
}

void replace_abandon(void)
{
	if (temporary_exists)
		unlinkat(temporary_folder, temporary, 0);
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
static void inherit(int descriptor, const struct followed *target)
{
	struct stat old, new;

	if (fstatat(target->folder, target->name, &old, AT_SYMLINK_NOFOLLOW) ||
		!S_ISREG(old.st_mode) || fstat(descriptor, &new))
		return;
	if (old.st_uid != new.st_uid || old.st_gid != new.st_gid)
		if (fchown(descriptor, old.st_uid, old.st_gid))
			return; /* somebody else's mode is not for our file */
	fchmod(descriptor, old.st_mode & 0777);
}

/* A target that rename cannot replace (a mount point, a sticky folder) is overwritten. */
static int copy_over(int from, const struct followed *target)
{
	static char bytes[COPY_BYTES];
	int to = followed_open(target, O_WRONLY);
	off_t at = 0;
	ssize_t have;
	int error = 0;

	if (to < 0)
		return to;
	if (ftruncate(to, 0))
		error = -errno;
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

int replace_write(const struct followed *target, replace_writer writer, void *context)
{
	int unnamed = create_unnamed(target);
	int descriptor, error;

	temporary_folder = target->folder;
	descriptor = unnamed < 0 ? create_beside(-1, target, temporary) : unnamed;
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
		if (!renameat(target->folder, temporary, target->folder, target->name))
			temporary_exists = 0;
		else
			error = copy_over(descriptor, target);
	}
	replace_abandon();
	temporary_exists = 0;
	close(descriptor);
	return error;
}
