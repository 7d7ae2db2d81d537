/* SPDX-License-Identifier: MIT */
/*
 * Print messages: each is one write(2) to stderr and begins with "flamerun: ". Control bytes are
 * replaced, because text from a profile or a command line must not control the terminal. Also finds
 * the known word that is nearest to a mistyped one.
 */
#ifndef CLI_DIAG_H
#define CLI_DIAG_H

#include <stdbool.h>
#include <stddef.h>

#include "render/bytes.h"

/*
 * Replace what a terminal would interpret in @text by '?': C0 and C1 controls, DEL, and bytes that
 * are not UTF-8. For text that is not printed by the functions below, which do so themselves.
 */
void diag_disarm(char *text);

/* How much is printed. */
enum diag_level {
	DIAG_QUIET = 0,  /* -q: errors and hints only */
	DIAG_NORMAL = 1,
	DIAG_VERBOSE = 2 /* -v */
};

void diag_set_level(enum diag_level level);

/* Print an error, "flamerun: <text>", at every level. @format: lower case, no full stop. */
void diag_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print "flamerun: hint: <text>", at every level. At most one after an error. */
void diag_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print "flamerun: <text>" unless quiet. */
void diag_info(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print "flamerun: <text>" only if verbose. */
void diag_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Append further lines of the calling thread to @kept (zero-initialised, borrowed) instead of
 * printing them; NULL: print again. diag_put() prints them, so that lines of several threads can be
 * printed in a fixed order.
 */
void diag_hold(struct bytes *kept);
void diag_put(const struct bytes *kept);

/* Are messages of @level printed? */
bool diag_wants(enum diag_level level);

/* Returns how many lines this process has printed or kept. */
unsigned diag_lines(void);

/*
 * The text of one error, owned by the caller. Zero-initialise. Functions below the commands do not
 * print errors: they fill this, return -errno, and the command prints it by diag_report().
 */
#define DIAG_TEXT_BYTES 512

struct diag_message {
	char text[DIAG_TEXT_BYTES];
	char hint[DIAG_TEXT_BYTES]; /* "": none */
};

/*
 * Fill @message (borrowed, may be NULL). If a resource limit of this process may be the cause of
 * @error, the hint says so; otherwise it is empty. Returns @error, a negative errno.
 */
int diag_fail(struct diag_message *message, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Set the hint of @message (may be NULL). */
void diag_fail_hint(struct diag_message *message, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Print the error in @message, then its hint if there is one. */
void diag_report(const struct diag_message *message);

/*
 * Flush stdout after writing to it ended with @error (0 or -errno; with -EIO, errno has the cause).
 * The caller has set errno to 0 before writing. Returns 0, or -errno with @message filled. For
 * -EPIPE @message is not filled, because a reader such as head(1) has just ended.
 */
int diag_end_stdout(int error, struct diag_message *message);

/* ---- a mistyped word ------------------------------------------------------------------------- */

struct nearest {
	const char *word; /* mistyped, borrowed */
	size_t bytes;
	const char *best; /* the nearest candidate, borrowed; NULL: none is near */
	unsigned distance; /* edits from @word to @best */
};

/* Begin a search for the candidate that is most similar to @word (borrowed) of @bytes. */
void nearest_begin(struct nearest *nearest, const char *word, size_t bytes);

/*
 * Consider @candidate (borrowed). It is near if its edit distance from the word is at most a third
 * of the candidate's length, or 1 below 6 bytes. The first of equally near candidates is kept.
 */
void nearest_offer(struct nearest *nearest, const char *candidate);

/* ---- slow work ------------------------------------------------------------------------------- */

/*
 * Begin work that may take long: after a second, show "flamerun: <text> ..." on the terminal. Shows
 * nothing if quiet, if stderr is no terminal, if flamerun is not in its foreground, or if no thread
 * can be started. Print nothing else until progress_end().
 * Context: one thread, one piece of work at a time.
 */
void progress_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* End the work and erase the line. Call it after each progress_begin(). */
void progress_end(void);

#endif
