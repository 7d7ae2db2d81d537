/* SPDX-License-Identifier: MIT */
/*
 * Find the pid in flamerun's PID namespace of a process that is in another PID namespace. The
 * process reports only its inner pid, and processes of several namespaces may have the same inner
 * pid. So find candidates by their inner pid, then compare the image number that the library has
 * written to their memory.
 *
 * Context: one thread.
 */
#ifndef CLI_OUTSIDE_OUTER_PID_H
#define CLI_OUTSIDE_OUTER_PID_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct outer_pid {
	pid_t inner;	/* pid in its own namespace */
	uint64_t image; /* its image number */
	/* Address in the process's memory at which the library stored `image`. */
	uint64_t image_at;
	/* The process's pid in flamerun's namespace. 0 if it was not found yet. */
	pid_t outer;
};

/* Search /proc for those of the @count processes whose `outer` is 0, and set `outer`. */
void outer_pids_find(struct outer_pid *pids, size_t count);

#endif
