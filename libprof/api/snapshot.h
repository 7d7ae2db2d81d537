/* SPDX-License-Identifier: MIT */
/*
 * Snapshots of a running program, asked for by FLAMERUN_SNAPSHOT and taken when a signal comes:
 *
 *   handler ──count, futex──▶ a thread of ours: start, wait, stop, write ──▶ picture
 *
 * The thread exists in programs that ask for snapshots and in no other. What goes wrong is one line
 * on stderr: the variable asked us to speak.
 */
#ifndef LIBPROF_API_SNAPSHOT_H
#define LIBPROF_API_SNAPSHOT_H

#include <signal.h>
#include <stdint.h>

/* What the handler and the thread share. */
struct snapshot_requests {
	uint32_t count; /* atomic, futex: signals that nobody has looked at */
	int32_t pid;	/* whose: a vfork child runs the handler in its parent's memory */
};

extern struct snapshot_requests snapshot_requests __attribute__((visibility("hidden")));

/* The handler of the signal. Context: signal-safe; keeps errno. */
void snapshot_handler(int signal);

#endif
