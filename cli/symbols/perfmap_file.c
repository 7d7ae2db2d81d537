/* SPDX-License-Identifier: MIT */
/*
 * Finding a process's perf map and deciding whether to trust it. /tmp is everybody's: the file may
 * be an older process's of the same number, another user's, or no file at all.
 */
#include "cli/symbols/perfmap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/symbols/regular.h"

/* Is the file of @status of this process? */
static int is_trusted(const struct stat *status, uint32_t pid, int64_t not_before_s)
{
	char process[32];
	struct stat owner;

	if (not_before_s && status->st_mtime < not_before_s)
		return 0;
	if (status->st_uid == geteuid())
		return 1;
	snprintf(process, sizeof(process), "/proc/%u", pid);
	return !stat(process, &owner) && owner.st_uid == status->st_uid;
}

/* Returns 0 and the file's bytes, owned, or -errno. The file may grow or shrink meanwhile. */
static int read_whole(int fd, off_t size, char **text, size_t *bytes)
{
	size_t room = size > (off_t)PERFMAP_MAX_BYTES ? PERFMAP_MAX_BYTES : (size_t)size;
	char *buffer = malloc(room + 1);
	size_t got = 0;

	if (!buffer)
		return -ENOMEM;
	while (got < room) {
		ssize_t more = pread(fd, buffer + got, room - got, (off_t)got);

		if (more < 0 && errno == EINTR)
			continue;
		if (more < 0) {
			int error = -errno;

			free(buffer);
			return error;
		}
		if (!more)
			break;
		got += (size_t)more;
	}
	*text = buffer;
	*bytes = got;
	return 0;
}

static int open_file(
	struct perfmap **out, const char *path, uint32_t root, uint32_t pid, int64_t not_before_s)
{
	int fd = regular_open(path, root, REGULAR_NO_LINK);
	struct stat status;
	char *text = NULL;
	size_t bytes = 0;
	int error;

	if (fd == -EINVAL || fd == -ELOOP || fd == -EACCES)
		return -EPERM;
	if (fd < 0)
		return fd == -ENOTDIR || fd == -ESRCH ? -ENOENT : fd;
	if (fstat(fd, &status))
		error = -errno;
	else if (!is_trusted(&status, pid, not_before_s))
		error = -EPERM;
	else
		error = read_whole(fd, status.st_size, &text, &bytes);
	close(fd);
	return error ? error : perfmap_parse(out, text, bytes);
}

int perfmap_open(struct perfmap **out, uint32_t pid, int64_t not_before_s)
{
	char path[64];
	int error;

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	error = open_file(out, path, pid, pid, not_before_s);
	if (!error || error == -ENOMEM)
		return error;

	/* No such process any more, no right to look through its root, or not it any more. */
	return open_file(out, path, 0, pid, not_before_s);
}
