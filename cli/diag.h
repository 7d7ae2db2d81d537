/* SPDX-License-Identifier: MIT */
/*
 * The only place that prints for flamerun. Every message is one write(2) to stderr, begins with
 * "flamerun: ", and has control bytes replaced, so that nothing from a profile or a command line
 * reaches a terminal unescaped. And, for hints, which known word a mistyped one may have meant.
 */
#ifndef CLI_DIAG_H
#define CLI_DIAG_H

#include <stdbool.h>
#include <stddef.h>

#include "render/bytes.h"

/*
 * Replace what a terminal could act on in @text: C0 and C1 controls, DEL, bytes that are not UTF-8.
 * For what is written by other means than the functions below.
 */
void diag_disarm(char *text);

/* How much is said. */
enum diag_level {
	DIAG_QUIET = 0,  /* -q: errors and hints only */
	DIAG_NORMAL = 1,
	DIAG_VERBOSE = 2 /* -v */
};

void diag_set_level(enum diag_level level);

/* "flamerun: <text>". Always printed: what went wrong, lower case, no full stop. */
void diag_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "flamerun: hint: <text>". At most one after an error. */
void diag_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "flamerun: <text>" unless quiet. */
void diag_info(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "flamerun: <text>" only when verbose. */
void diag_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Keep the lines of the calling thread in @kept (zero-initialised, borrowed) instead of printing
 * them; NULL: print again. What is kept is printed by diag_put(): lines of threads in their order.
 */
void diag_hold(struct bytes *kept);
void diag_put(const struct bytes *kept);

/* Is there anybody who reads what diag_info() says? */
bool diag_wants_info(void);

/*
 * A caller-owned place for one error's detail, filled where it is known and printed at the top.
 * Zero-initialise. Below cli/main.c and the commands nothing prints: functions return -errno and
 * fill this.
 */
#define DIAG_TEXT_BYTES 512

struct diag_message {
	char text[DIAG_TEXT_BYTES];
	char hint[DIAG_TEXT_BYTES]; /* "" when there is none */
};

/*
 * Fill @message (borrowed, may be NULL) and return @error (a negative errno) unchanged. Where a
 * limit of the process explains the error, the hint is its value.
 */
int diag_fail(struct diag_message *message, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Set the hint of @message (may be NULL). */
void diag_fail_hint(struct diag_message *message, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Print what diag_fail() collected: the error, then the hint if any. */
void diag_report(const struct diag_message *message);

/*
 * All is written to stdout, with @error (0 or -errno; -EIO: the stream's, which errno tells), errno
 * having been 0 before: flush it. Returns 0; or -errno with @message filled, but for -EPIPE: who
 * read it has left and wants to hear nothing.
 */
int diag_end_stdout(int error, struct diag_message *message);

/* ---- a mistyped word ------------------------------------------------------------------------- */

struct nearest {
	const char *word; /* mistyped, borrowed */
	size_t bytes;
	const char *best; /* borrowed from what was offered; NULL: nothing is near */
	unsigned distance;
};

/* Begin to look for what the @bytes of @word may mean. */
void nearest_begin(struct nearest *nearest, const char *word, size_t bytes);

/*
 * Consider @candidate. It is near when a third of its letters or fewer, but at least one, would
 * have to be typed otherwise; the first of equally near ones stays.
 */
void nearest_offer(struct nearest *nearest, const char *candidate);

/* ---- what takes long ------------------------------------------------------------------------- */

/*
 * One line that says what takes so long, on a terminal only, and gone when it is done. Work that
 * takes less than a second is not worth a word. One thread, one piece of work at a time; nothing
 * else is printed in between.
 */

/*
 * Work begins: show "flamerun: <what> ..." in a second, if messages of this kind are wanted, stderr
 * is a terminal, and we are in its foreground. Never fails: without it the work is only silent.
 */
void progress_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Work is done: take the line back. Always after progress_begin(). */
void progress_end(void);

#endif
