/* SPDX-License-Identifier: MIT */
/*
 * Print messages to stderr. Each message is one write(2) and begins with "flamerun: ". Control
 * bytes are replaced, because text from a profile or a command line must not control the terminal.
 * This file also finds the known word that is nearest to a mistyped word.
 */
#ifndef CLI_DIAG_H
#define CLI_DIAG_H

#include <stdbool.h>
#include <stddef.h>

#include "render/bytes.h"

/*
 * Replace in @text by '?' what a terminal would interpret: C0 and C1 controls, DEL, and bytes that
 * are not UTF-8. The functions below do this to their own text. Call it for text that is printed
 * otherwise.
 */
void diag_disarm(char *text);

/* Which messages are printed. */
enum diag_level {
	DIAG_QUIET = 0,  /* -q: errors and hints only */
	DIAG_NORMAL = 1,
	DIAG_VERBOSE = 2 /* -v */
};

void diag_set_level(enum diag_level level);

/* Print an error, "flamerun: <text>", at every level. @format: lower case, no full stop. */
void diag_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print "flamerun: hint: <text>", at every level. Print at most one hint after an error. */
void diag_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print "flamerun: <text>" unless quiet. */
void diag_info(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print "flamerun: <text>" only if verbose. */
void diag_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Append further lines of the calling thread to @kept (zero-initialised, borrowed) instead of
 * printing them, so that the lines of several threads can be printed in a fixed order. If @kept is
 * NULL, print lines again. diag_put() prints the lines in @kept.
 */
void diag_hold(struct bytes *kept);
void diag_put(const struct bytes *kept);

/* Are messages of @level printed? */
bool diag_wants(enum diag_level level);

/* Returns how many lines this process has printed or kept. */
unsigned diag_lines(void);

/*
 * The text of one error, owned by the caller. Zero-initialise. Functions that a command calls do
 * not print errors. They fill a diag_message and return -errno, and the command prints the message
 * by diag_report().
 */
#define DIAG_TEXT_BYTES 512

struct diag_message {
	char text[DIAG_TEXT_BYTES];
	char hint[DIAG_TEXT_BYTES]; /* "": none */
};

/*
 * Fill @message (borrowed, may be NULL) with the text. If @error may be due to a resource limit of
 * this process, the hint says so. Otherwise the hint is empty. Returns @error, a negative errno.
 */
int diag_fail(struct diag_message *message, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Set the hint of @message (may be NULL). */
void diag_fail_hint(struct diag_message *message, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Print the error in @message, then its hint if there is one. */
void diag_report(const struct diag_message *message);

/*
 * Flush stdout after data was written to it with result @error: 0 or -errno (with -EIO, errno has
 * the cause). The caller has set errno to 0 before it began to write. Returns 0, or -errno with
 * @message filled. For -EPIPE @message is not filled, because a reader such as head(1) has just
 * ended.
 */
int diag_end_stdout(int error, struct diag_message *message);

/* ---- a mistyped word ------------------------------------------------------------------------- */

struct nearest {
	const char *word; /* mistyped, borrowed */
	size_t bytes;
	/* The nearest candidate, borrowed. NULL if no candidate is near. */
	const char *best;
	unsigned distance; /* edits from @word to @best */
};

/* Begin a search for the candidate that is most similar to @word (@bytes, borrowed). */
void nearest_begin(struct nearest *nearest, const char *word, size_t bytes);

/*
 * Consider @candidate (borrowed). A candidate is near if its edit distance from the word is at most
 * a third of the candidate's length, or 1 if the candidate has fewer than 6 bytes. If several
 * candidates are equally near, the first of them is kept.
 */
void nearest_offer(struct nearest *nearest, const char *candidate);

/* ---- slow work ------------------------------------------------------------------------------- */

/*
 * Begin work that may be slow: after a second, show "flamerun: <text> ..." on the terminal. Show
 * nothing if messages are quiet, stderr is no terminal, flamerun is not in the terminal's
 * foreground, or no thread can be started. The caller must print nothing else until progress_end().
 *
 * Context: one thread, one piece of work at a time.
 */
void progress_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* End the work and erase the line. Call it after each progress_begin(). */
void progress_end(void);

#endif
