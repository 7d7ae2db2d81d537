/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks: "outermost;...;innermost weight\n", the format of stackcollapse and flamegraph.pl.
 */
#ifndef CLI_FORMATS_FOLDED_H
#define CLI_FORMATS_FOLDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/diag.h"
#include "render/calltree.h"

/* Two versions of a program in a line, "stack old new": the format of difffolded.pl. */
#define FOLDED_VERSIONS 2

/*
 * A stream, line by line. Unlike getline(3) it gives up on a line without end before it has taken
 * all memory, as of /dev/zero.
 */
#define LINES_BYTES_MAX (64u << 20) /* of one line */

/* Begin with {.in = stream}; the stream is borrowed, the rest is lines_release()'s. */
struct lines {
	FILE *in;
	char *text;
	size_t room;
	size_t at, used; /* what was read and not given out: text[at..used) */
};

/*
 * Take the next line without its newline, a NUL behind it. It may be written to and is valid until
 * the next call.
 * Returns 1, 0 at the end of the stream, or -EFBIG (longer than LINES_BYTES_MAX), -ENOMEM, -errno
 * of reading.
 */
int lines_next(struct lines *lines, char **line, size_t *bytes);

/*
 * Look at what the stream begins with, before any line is taken: the first *@bytes, fewer than a
 * line may have. Returns 0, or as lines_next() does.
 */
int lines_look(struct lines *lines, const char **text, size_t *bytes);

void lines_release(struct lines *lines);

/*
 * Write every node of @tree (finished) that has self weight as one line, in a stable order. ';',
 * control bytes and newlines in names are replaced. @inline_suffix: names of inlined functions end
 * in "_[i]", as perf's and flamegraph.pl's do. @scale, unless NULL: lines have the counts of two
 * versions of a program, each divided by that; @tree's threads are runs, of process "old" or "new".
 * Returns 0, or -errno of @out.
 */
int folded_write(const struct calltree *tree, const unsigned *scale, bool inline_suffix, FILE *out);

/* A file of which none of so many lines is a stack has none. */
#define FOLDED_DOUBT_LINES 100

/* Lines that are not "stack weight" and were left out. */
struct folded_bad {
	uint64_t stacks; /* that were taken, also those of no weight */
	uint64_t count;
	uint64_t first; /* the number of the first one, from 1; 0: there was none */
};

/*
 * Add the stacks of all @lines to @tree (not finished by this); @name is what they are called in
 * messages.
 * Single lines that are no stacks are left out and counted in *@bad.
 * @newer, unless NULL: lines have two counts, the second for this tree; most must.
 *
 * Returns 0; or -errno with @message filled and the tree of no use: of reading, -ENOMEM, -EFBIG (a
 * line that is too long for any stack), -ERANGE (a count that is too large), -ENODATA (certainly no
 * folded stacks). Nearly any text could be some; that is said of the file's first lines only, so
 * that a damaged end costs only itself.
 */
int folded_read(struct calltree *tree, struct calltree *newer, struct lines *lines,
	const char *name, struct folded_bad *bad, struct diag_message *message);

#endif
