/* SPDX-License-Identifier: MIT */
/*
 * Snapshots of a running program, configured by FLAMERUN_SNAPSHOT and taken on a signal:
 *
 *   handler ──count, futex──▶ snapshot thread: start, wait, stop, write ──▶ picture
 *
 * Only programs with FLAMERUN_SNAPSHOT in their environment have the thread. An error is reported
 * as one line on stderr, because the user of the variable expects a picture.
 */
#ifndef LIBPROF_SESSION_SNAPSHOT_H
#define LIBPROF_SESSION_SNAPSHOT_H

#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "libprof/flameprof.h"

/* ---- lines on stderr ------------------------------------------------------------------------- */
/* The library's only messages, for the user of FLAMERUN_SNAPSHOT: "flameprof: <text>" on stderr. */

/*
 * Print one line by one write(2); control bytes become '?'. errno is kept. Context: any thread, not
 * a handler. May wait for the reader of a full pipe.
 */
void warning_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- FLAMERUN_SNAPSHOT ----------------------------------------------------------------------- */
/*
 * The value of FLAMERUN_SNAPSHOT: key=value pairs separated by colons, in any order.
 *
 *   signal=USR2       name or number of the signal that asks for a snapshot
 *   duration=10       seconds that are sampled, decimals allowed; 0.01 to 86400
 *   rate=97           samples per second of clock; 1 to 10000
 *   clock=cpu         or elapsed
 *   output=%p-%t.svg  name of the picture, with placeholders (placeholder.h); "\:" is a colon
 *
 * "on" means these defaults; "off" and an empty value mean no snapshots.
 */

#define SNAPSHOT_ENV "FLAMERUN_SNAPSHOT"

struct snapshot_settings {
	int signal; /* 0: no snapshots */
	unsigned rate_hz;
	enum flameprof_clock clock;
	uint64_t duration_ns;
	/* Folder of the output, with a slash at the end; "" if the output is absolute. */
	char folder[PATH_MAX];
	/*
	 * Pattern of the file name below `folder`. Host, rank and variables are already expanded;
	 * pid and time are not.
	 */
	char output[PATH_MAX];
};

/*
 * Parse @text into @out. If there is an error, describe it in @message of @bytes bytes, without
 * control bytes.
 *
 * Returns 0, or -EINVAL, -ENOENT, -ENAMETOOLONG with @message filled and @out undefined.
 * Context: before the program's own code runs, because it reads the environment and current folder.
 */
int snapshot_settings_parse(
	struct snapshot_settings *out, const char *text, char *message, size_t bytes);

/*
 * Write the file name for the picture of process @pid, with @started_s as the time of the snapshot,
 * to @out. Returns 0 or -ENAMETOOLONG. Context: any thread, not a handler; reads no environment.
 */
int snapshot_settings_name(char out[PATH_MAX], const struct snapshot_settings *settings, long pid,
	time_t started_s);

/* Write the signal's name, or its number if it has no name, to @out of at least 24 bytes. */
void snapshot_signal_name(char *out, int signal);

/* ---- taking snapshots ------------------------------------------------------------------------ */

/* Data shared by the handler and the snapshot thread. */
struct snapshot_requests {
	/* Atomic and a futex: number of signals that are not handled yet. */
	uint32_t count;
	/*
	 * pid of the process in which the snapshot thread runs. A vfork child runs the handler in
	 * its parent's memory and has another pid.
	 */
	int32_t pid;
};

extern struct snapshot_requests snapshot_requests __attribute__((visibility("hidden")));

/* Handle the snapshot signal. Context: signal-safe; keeps errno. */
void snapshot_handler(int signal);

#endif
