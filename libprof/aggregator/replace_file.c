/* SPDX-License-Identifier: MIT */
/* Write a temporary file and rename it, or write to a device or pipe. */
#include "libprof/aggregator/replace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libprof/follow_links.h"

#define TRIES	   100
/* Bytes that are kept of the file's name, so that dot, name and suffix stay below NAME_MAX. */
#define NAME_BYTES 200

/* Create ".<name>.XXXXXXXX" beside @target. Returns its descriptor and @name, or -errno. */
static int create_beside(const struct followed *target, char name[NAME_MAX + 1])
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t random;
		int fd;

		if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
			random = (uint32_t)clock() * 2654435761u + (uint32_t)(getpid() + i);
		snprintf(name, NAME_MAX + 1, ".%.*s.%08x", NAME_BYTES, target->name, random);
		fd = openat(target->folder, name,
			O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
		if (fd >= 0 || errno != EEXIST)
			return fd >= 0 ? fd : -errno;
	}
	return -EEXIST;
}

static int write_and_rename(const struct followed *target, const struct stat *old,
	replace_file_fn *write, void *context)
{
	char name[NAME_MAX + 1];
	int fd = create_beside(target, name);
	int error;

	if (fd < 0)
		return fd;
	error = write(context, fd);
	/*
	 * Give the new file the mode of the old one, because overwriting the old file would have
	 * kept it.
	 */
	if (!error && old && fchmod(fd, old->st_mode & 0777) && errno != EPERM)
		error = -errno;
	/* Some file systems report a full disk only at close(). */
	if (close(fd) && !error)
		error = -errno;
	if (!error && renameat(target->folder, name, target->folder, target->name))
		error = -errno;
	if (error)
		unlinkat(target->folder, name, 0);
	return error;
}

static int write_directly(const struct followed *target, replace_file_fn *write, void *context)
{
	/*
	 * followed_open() adds O_NONBLOCK, so that it does not wait for a FIFO's reader. Clear the
	 * flag, so that writing waits for room.
	 */
	int fd = followed_open(target, O_WRONLY);
	int error;

	if (fd < 0)
		return fd;
	error = fcntl(fd, F_SETFL, 0) ? -errno : write(context, fd);
	if (close(fd) && !error)
		error = -errno;
	return error;
}

static int replace(const char *path, replace_file_fn *write, void *context)
{
	struct followed target;
	struct stat old;
	int error = follow_links(path, &target);
	int exists;

	if (!error) {
		exists = !fstatat(target.folder, target.name, &old,
			target.open_flags ? AT_SYMLINK_NOFOLLOW : 0);
		error = exists && !S_ISREG(old.st_mode)
			? write_directly(&target, write, context)
			: write_and_rename(&target, exists ? &old : NULL, write, context);
		followed_release(&target);
	}
	return error == -FOLLOW_ANOTHERS ? -EACCES : error;
}

int replace_file(const char *path, replace_file_fn *write, void *context)
{
	static const struct timespec at_once;
	sigset_t ours, before, pending;
	int error;

	sigemptyset(&ours);
	sigaddset(&ours, SIGXFSZ);
	sigaddset(&ours, SIGPIPE);
	sigpending(&pending);
	/* Do not remove signals that were pending before, because they are the host's. */
	if (sigismember(&pending, SIGXFSZ))
		sigdelset(&ours, SIGXFSZ);
	if (sigismember(&pending, SIGPIPE))
		sigdelset(&ours, SIGPIPE);
	error = -pthread_sigmask(SIG_BLOCK, &ours, &before);
	if (error)
		return error;
	error = replace(path, write, context);
	if (error == -EFBIG || error == -EPIPE)
		while (sigtimedwait(&ours, NULL, &at_once) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}
