/* SPDX-License-Identifier: MIT */
/*
 * A stream, line by line. Unlike getline(3) it gives up on a line without end before it has taken
 * all memory, as of /dev/zero.
 */
#ifndef CLI_FORMATS_LINES_H
#define CLI_FORMATS_LINES_H

#include <stddef.h>
#include <stdio.h>

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

void lines_release(struct lines *lines);

#endif
