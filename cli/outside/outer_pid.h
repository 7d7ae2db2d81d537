/* SPDX-License-Identifier: MIT */
/*
 * Finds the pid that flamerun sees for a process in another PID namespace. The process reports only
 * its inner pid, which processes of several namespaces may share. So candidates are found by their
 * inner pid, and told apart by a word of their memory that only the library in them writes.
 *
 * Context: one thread.
 */
#ifndef CLI_OUTSIDE_OUTER_PID_H
#define CLI_OUTSIDE_OUTER_PID_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct outer_pid {
	pid_t inner;	   /* its pid in its own namespace */
	uint64_t image;	   /* number of the image that it runs */
	uint64_t image_at; /* address of that number in its memory */
	pid_t outer;	   /* its pid in flamerun's namespace; 0: not found */
};

/* Search /proc for those of the @count entries at @pids whose `outer` is 0, and fill it in. */
void outer_pids_find(struct outer_pid *pids, size_t count);

#endif
