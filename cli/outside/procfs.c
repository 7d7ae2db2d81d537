/* SPDX-License-Identifier: MIT */
/*
 * Reading files of /proc.
 */
#include "cli/outside/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Up to @room - 1 bytes of a file, ended by a NUL. Returns their number or -errno. */
static ssize_t read_whole(const char *path, char *out, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t bytes;

	if (fd < 0)
		return -errno;
	bytes = read(fd, out, room - 1);
	if (bytes < 0)
		bytes = -errno;
	close(fd);
	out[bytes > 0 ? bytes : 0] = '\0';
	return bytes;
}

long procfs_number(pid_t id, const char *name)
{
	char path[64], text[4096], key[64];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)id);
	snprintf(key, sizeof(key), "\n%s:", name);
	if (read_whole(path, text, sizeof(text)) <= 0)
		return -1;
	at = strstr(text, key);
	return at ? strtol(at + strlen(key), NULL, 10) : -1;
}

int procfs_link(pid_t pid, const char *name, char out[PATH_MAX])
{
	char path[64];
	ssize_t bytes;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	bytes = readlink(path, out, PATH_MAX - 1);
	if (bytes < 0)
		return -errno;
	out[bytes] = '\0';
	return 0;
}

void procfs_comm(pid_t pid, pid_t tid, char out[WIRE_COMM_BYTES])
{
	char path[64];
	ssize_t bytes;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	bytes = read_whole(path, out, WIRE_COMM_BYTES);
	out[bytes > 0 ? strcspn(out, "\n") : 0] = '\0';
}

/* Field @number of stat, from 3 on: what is before can hold blanks. NULL when it has gone. */
static const char *stat_field(pid_t pid, pid_t tid, unsigned number, char *text, size_t room)
{
	char path[64];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	if (read_whole(path, text, room) <= 0)
		return NULL;
	at = strrchr(text, ')');
	for (unsigned field = 2; at && field < number; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at;
}

char procfs_state(pid_t pid, pid_t tid)
{
	char text[512];
	const char *state = stat_field(pid, tid, 3, text, sizeof(text));

	return state ? *state : 0;
}

uintptr_t procfs_stack_top(pid_t pid)
{
	char text[1024];
	const char *top = stat_field(pid, pid, 28, text, sizeof(text));

	return top ? strtoul(top, NULL, 10) : 0;
}

long procfs_threads(pid_t pid, pid_t *tids, size_t room)
{
	char path[64];
	const struct dirent *entry;
	long count = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	folder = opendir(path);
	if (!folder)
		return -errno;
	while ((entry = readdir(folder))) {
		long tid = strtol(entry->d_name, NULL, 10);

		if (tid <= 0 || tid > INT_MAX)
			continue;
		if ((size_t)count < room)
			tids[count] = (pid_t)tid;
		count++;
	}
	closedir(folder);
	return count;
}

int procfs_clock_open(pid_t pid, pid_t tid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int procfs_clock_read(int clock, struct procfs_clock *out)
{
	char text[96], *at;
	ssize_t bytes = pread(clock, text, sizeof(text) - 1, 0);

	if (bytes <= 0)
		return bytes < 0 ? -errno : -ESRCH;
	text[bytes] = '\0';
	out->cpu_ns = strtoull(text, &at, 10);
	out->waited_ns = strtoull(at, &at, 10);
	out->turns = strtoull(at, NULL, 10);
	return 0;
}
