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

/* A line for two versions of a program, "stack old new", is the format of difffolded.pl. */
#define FOLDED_VERSIONS 2

/*
 * Reads a stream line by line. Unlike getline(3) it fails on an endless line, as from /dev/zero,
 * before it has used all memory.
 */
#define LINES_BYTES_MAX (64u << 20) /* longest line */

/* Initialise with {.in = stream}. The stream is borrowed; lines_release() frees the rest. */
struct lines {
	FILE *in;
	char *text;
	size_t room;
	size_t at, used; /* bytes read but not returned yet: text[at..used) */
};

/*
 * Read the next line. Its newline is replaced by NUL. The caller may change it until the next call.
 * Returns 1, 0 at the end of the stream, -EFBIG (longer than LINES_BYTES_MAX), -ENOMEM, or -errno
 * of the read.
 */
int lines_next(struct lines *lines, char **line, size_t *bytes);

/*
 * Peek at the start of the stream before the first lines_next(). *@text is less than a longest
 * line. Returns 0, -EFBIG, -ENOMEM, or -errno of the read.
 */
int lines_peek(struct lines *lines, const char **text, size_t *bytes);

void lines_release(struct lines *lines);

/*
 * Write each node of @tree (finished) that has self weight as a line, in preorder. ';' and control
 * characters in names are replaced. With @inline_suffix, names of inlined functions end in "_[i]",
 * as in perf and flamegraph.pl. If @scale is not NULL, lines have two counts, of the versions "old"
 * and "new" (the names of @tree's processes), each divided by its scale. Returns 0, or -errno of
 * @out.
 */
int folded_write(const struct calltree *tree, const unsigned *scale, bool inline_suffix, FILE *out);

/* If none of the first non-empty lines, this many, is a stack, the file has none. */
#define FOLDED_DOUBT_LINES 100

/* Numbers of lines. @count and @first are for lines that were skipped as they are not stacks. */
struct folded_bad {
	uint64_t stacks; /* lines that are stacks, weight 0 included */
	uint64_t count;
	uint64_t first; /* line number of the first, from 1; 0: none */
};

/*
 * Add the stacks of all @lines to @tree, which is not finished. @name is used in messages. Lines
 * that are not stacks are skipped and counted in *@bad. If @newer is not NULL, lines must have two
 * counts (most of them), and the second is added to @newer.
 *
 * Returns 0, or -errno with @message filled and unusable trees: an error of reading, -ENOMEM,
 * -EFBIG (line too long), -ERANGE (count too large), -ENODATA (not folded stacks). -ENODATA is
 * decided by the first lines only, because almost any text could be a stack and a damaged end
 * should lose no more.
 */
int folded_read(struct calltree *tree, struct calltree *newer, struct lines *lines,
	const char *name, struct folded_bad *bad, struct diag_message *message);

#endif
