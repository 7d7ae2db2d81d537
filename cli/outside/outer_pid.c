/* SPDX-License-Identifier: MIT */
/*
 * Read /proc once for all processes that are searched for. Reading their memory requires the right
 * to trace them, without which the pid found would be useless anyway.
 */
#include "cli/outside/outer_pid.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "libprof/procfs.h"

static bool has_image(pid_t pid, const struct outer_pid *wanted)
{
	uint64_t image = 0;
	struct iovec local = {&image, sizeof(image)};
	struct iovec remote = {(void *)(uintptr_t)wanted->image_at, sizeof(image)};

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)sizeof(image) &&
	       image == wanted->image;
}

void outer_pids_find(struct outer_pid *pids, size_t count)
{
	const struct dirent *entry;
	DIR *folder = opendir("/proc");

	while (folder && (entry = readdir(folder))) {
		long pid = strtol(entry->d_name, NULL, 10);
		pid_t inner;

		if (pid <= 0 || pid > INT_MAX)
			continue;
		inner = procfs_inner_pid((pid_t)pid);
		for (size_t i = 0; i < count; i++)
			if (!pids[i].outer && pids[i].inner == inner &&
				has_image((pid_t)pid, &pids[i]))
				pids[i].outer = (pid_t)pid;
	}
	if (folder)
		closedir(folder);
}
