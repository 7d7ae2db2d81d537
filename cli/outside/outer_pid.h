/* SPDX-License-Identifier: MIT */
/*
 * The pid by which we know a process of a pid namespace below ours: it knows its own alone, and
 * several may have the same. So its number there finds candidates, and a word of its memory that
 * only the library in it writes tells who it is.
 *
 * Context: one thread.
 */
#ifndef CLI_OUTSIDE_OUTER_PID_H
#define CLI_OUTSIDE_OUTER_PID_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct outer_pid {
	pid_t inner;	   /* what it is to itself */
	uint64_t image;	   /* which it is by now */
	uint64_t image_at; /* where it has that number in memory */
	pid_t outer;	   /* 0: not found, yet */
};

/* Look through /proc for those of the @count at @pids that have no number here yet. */
void outer_pids_find(struct outer_pid *pids, size_t count);

#endif
