/* SPDX-License-Identifier: MIT */
/*
 * Snapshots of a running program, asked for by FLAMERUN_SNAPSHOT and taken when a signal comes:
 *
 *   handler ──count, futex──▶ a thread of ours: start, wait, stop, write ──▶ picture
 *
 * The thread exists in programs that ask for snapshots and in no other. What goes wrong is one line
 * on stderr: the variable asked us to speak.
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
/*
 * The library's only words, for who set FLAMERUN_SNAPSHOT: "flameprof: <text>" on stderr.
 */

/*
 * One line, by one write(2); control bytes become '?'. errno is kept.
 * Context: any thread, not a handler. May wait for the reader of a full pipe.
 */
void warning_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- FLAMERUN_SNAPSHOT ----------------------------------------------------------------------- */
/*
 * What FLAMERUN_SNAPSHOT asks for: key=value pairs with colons between them, in any order.
 *
 *   signal=USR2       name or number of the signal that asks for a snapshot
 *   duration=10       seconds that are sampled, decimals allowed; 0.01 to 86400
 *   rate=97           samples per second of clock; 1 to 10000
 *   clock=cpu         or elapsed
 *   output=%p-%t.svg  name of the picture, gaps as in libprof/placeholder.h; "\:" is a colon
 *
 * "on" stands for these defaults, "off" and an empty value for no snapshots.
 */

#define SNAPSHOT_ENV "FLAMERUN_SNAPSHOT"

struct snapshot_settings {
	int signal; /* 0: no snapshots */
	unsigned rate_hz;
	enum flameprof_clock clock;
	uint64_t duration_ns;
	char folder[PATH_MAX];	/* with its last slash; "" when the output is absolute */
	char output[PATH_MAX];	/* below it: host and variables filled in, pid and time left */
};

/*
 * Read @text into @out. What is wrong with it is said in @message (@bytes), without control bytes.
 *
 * Returns 0, or -EINVAL, -ENOENT, -ENAMETOOLONG with @message filled and @out undefined.
 * Context: reads the environment and the current folder: before the program's own code runs.
 */
int snapshot_settings_parse(
	struct snapshot_settings *out, const char *text, char *message, size_t bytes);

/*
 * The name of a picture of process @pid begun at @started_s into @out.
 * Returns 0 or -ENAMETOOLONG. Context: any thread, not a handler; reads no environment.
 */
int snapshot_settings_name(char out[PATH_MAX], const struct snapshot_settings *settings, long pid,
	time_t started_s);

/* "SIGUSR2" or, for a signal without a name, its number. @out: at least 24 bytes. */
void snapshot_signal_name(char *out, int signal);

/* ---- taking them ----------------------------------------------------------------------------- */

/* What the handler and the thread share. */
struct snapshot_requests {
	uint32_t count; /* atomic, futex: signals that nobody has looked at */
	int32_t pid;	/* whose: a vfork child runs the handler in its parent's memory */
};

extern struct snapshot_requests snapshot_requests __attribute__((visibility("hidden")));

/* The handler of the signal. Context: signal-safe; keeps errno. */
void snapshot_handler(int signal);

#endif
