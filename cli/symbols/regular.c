/* SPDX-License-Identifier: MIT */
/*
 * Names are opened with O_PATH first, which has no effect on what they name; only when that is a
 * regular file is it opened for reading, through the same descriptor, so that nothing can be
 * exchanged in between.
 */
#include "cli/symbols/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_below(const char *folder, const char *path, int open_flags, uint64_t resolve)
{
	struct open_how how = {.flags = (uint64_t)open_flags, .resolve = resolve};
	int at = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (at < 0)
		return -errno;

	int fd = (int)syscall(SYS_openat2, at, path, &how, sizeof(how));

	/* Kernels before 5.6 and seccomp filters of containers: links may then lead astray, which
	 * a build-id finds out. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {
		while (*path == '/')
			path++;
		fd = openat(at, path, open_flags);
	}
	if (fd < 0)
		fd = -errno;
	close(at);
	return fd;
}

static int open_name(const char *path, uint32_t pid, unsigned flags)
{
	const int open_flags = O_PATH | O_CLOEXEC | (flags & REGULAR_NO_LINK ? O_NOFOLLOW : 0);
	char folder[64];

	if (!pid) {
		int fd = open(path, open_flags);

		return fd < 0 ? -errno : fd;
	}
	snprintf(folder, sizeof(folder), "/proc/%u/%s", pid, path[0] == '/' ? "root" : "cwd");
	return open_below(folder, path, open_flags, path[0] == '/' ? RESOLVE_IN_ROOT : 0);
}

int regular_open(const char *path, uint32_t pid, unsigned flags)
{
	char link[64];
	struct stat status;
	int result;
	int name = open_name(path, pid, flags);

	if (name < 0)
		return name;
	if (fstat(name, &status)) {
		result = -errno;
		goto out;
	}
	if (!S_ISREG(status.st_mode)) {
		result = S_ISLNK(status.st_mode) ? -ELOOP : -EINVAL;
		goto out;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", name);
	result = open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (result < 0)
		result = -errno;
out:
	close(name);
	return result;
}
