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
 * struct lines reads a stream line by line. Unlike getline(3), it fails on an endless line, as from
 * /dev/zero, before it has used all memory.
 */
#define LINES_BYTES_MAX (64u << 20) /* longest line */

/* A stream read by lines. Initialise with {.in = stream}; the stream is borrowed. */
struct lines {
	FILE *in;
	char *text;
	size_t room;
	/* bytes read but not returned yet: text[at..used) */
	size_t at, used;
};

/*
 * Read the next line. Its newline is replaced by NUL. The caller may change *@line until the next
 * call. Returns 1, 0 at the end of the stream, -EFBIG (longer than LINES_BYTES_MAX), -ENOMEM, or
 * -errno of the read.
 */
int lines_next(struct lines *lines, char **line, size_t *bytes);

/*
 * Set *@text to the start of the stream without consuming it. Call this before the first
 * lines_next(). *@bytes is below LINES_BYTES_MAX. Returns 0, -EFBIG, -ENOMEM, or -errno of the
 * read.
 */
int lines_peek(struct lines *lines, const char **text, size_t *bytes);

void lines_release(struct lines *lines);

/*
 * Write each node of @tree (finished) that has self weight as a line, in preorder. ';' and control
 * characters in names are replaced. With @inline_suffix, names of inlined functions end in "_[i]",
 * as in perf and flamegraph.pl. If @scale is not NULL, lines have two counts, of the versions "old"
 * and "new" (the names of @tree's processes), each divided by the version's @scale. Returns 0, or
 * -errno of @out.
 */
int folded_write(const struct calltree *tree, const unsigned *scale, bool inline_suffix, FILE *out);

/* A file is refused if none of its first non-empty lines, up to this number, is a stack. */
#define FOLDED_DOUBT_LINES 100
/* A file is refused if more than one of this number of lines is not a stack. */
#define FOLDED_OTHERS 20

/* Numbers of lines. @count and @first describe lines that were skipped: they are not stacks. */
struct folded_bad {
	/* lines that are stacks, weight 0 included */
	uint64_t stacks;
	uint64_t count;
	uint64_t first; /* line number of the first, from 1; 0: none */
	/* A weight has decimals. They are carried to the next line. */
	bool has_fractions;
};

/*
 * Add the stacks of all @lines to @tree, which is not finished here. @name is used in messages.
 * Lines that begin with "# " are comments. Other lines that are not stacks are skipped and counted
 * in *@bad. If @newer is not NULL, lines have two counts, and the second is added to @newer.
 *
 * Returns 0, or -errno with @message filled and unusable trees: an error of reading, -ENOMEM,
 * -EFBIG (line too long), -ERANGE (count too large), -ENODATA (not folded stacks: of 20 lines, 2
 * are none).
 */
int folded_read(struct calltree *tree, struct calltree *newer, struct lines *lines,
	const char *name, struct folded_bad *bad, struct diag_message *message);

#endif
