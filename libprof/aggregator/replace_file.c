/* SPDX-License-Identifier: MIT */
/*
 * The temporary file and the rename.
 */
#include "libprof/aggregator/replace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TRIES	   100
#define NAME_BYTES 200 /* of the name kept: with what is added it stays within 255 */

/*
 * Make an empty file beside @target, ".<name>.XXXXXXXX".
 * Returns its descriptor and its name in @name, or -errno.
 */
static int create_beside(const char *target, char name[PATH_MAX])
{
	const char *slash = strrchr(target, '/');
	int folder = slash ? (int)(slash - target) + 1 : 0;

	for (int i = 0; i < TRIES; i++) {
		uint32_t random;
		int fd, n;

		if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
			random = (uint32_t)clock() * 2654435761u + (uint32_t)(getpid() + i);
		n = snprintf(name, PATH_MAX, "%.*s.%.*s.%08x", folder, target, NAME_BYTES,
			target + folder, random);
		if (n >= PATH_MAX)
			return -ENAMETOOLONG;
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
		if (fd >= 0 || errno != EEXIST)
			return fd >= 0 ? fd : -errno;
	}
	return -EEXIST;
}

static int write_and_rename(
	const char *target, const struct stat *old, replace_file_fn *write, void *context)
{
	char name[PATH_MAX];
	int fd = create_beside(target, name);
	int error;

	if (fd < 0)
		return fd;
	error = write(context, fd);
	/* A file that is there keeps its mode, as it would if it were overwritten. */
	if (!error && old && fchmod(fd, old->st_mode & 0777) && errno != EPERM)
		error = -errno;
	/* Some disks say "full" only now. */
	if (close(fd) && !error)
		error = -errno;
	if (!error && rename(name, target))
		error = -errno;
	if (error)
		unlink(name);
	return error;
}

static int write_directly(const char *path, replace_file_fn *write, void *context)
{
	/* Not waiting for a pipe to be opened for reading, but for room in it. */
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int error;

	if (fd < 0)
		return -errno;
	error = fcntl(fd, F_SETFL, 0) ? -errno : write(context, fd);
	if (close(fd) && !error)
		error = -errno;
	return error;
}

static int replace(const char *path, replace_file_fn *write, void *context)
{
	char target[PATH_MAX];
	struct stat old;
	int exists = !stat(path, &old);

	if (exists && S_ISDIR(old.st_mode))
		return -EISDIR;
	if (exists && !S_ISREG(old.st_mode))
		return write_directly(path, write, context);
	if (exists && !realpath(path, target))
		return -errno;
	return write_and_rename(exists ? target : path, exists ? &old : NULL, write, context);
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
	/* What was pending before is the host's. */
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
