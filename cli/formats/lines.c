/* SPDX-License-Identifier: MIT */
/*
 * A buffer that holds at least the line under way.
 */
#include "cli/formats/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES 65536u

/* Room for more bytes, and for the NUL. Returns 0, -EFBIG or -ENOMEM. */
static int make_room(struct lines *lines)
{
	size_t room = lines->room ? lines->room * 2 : FIRST_BYTES;
	char *text;

	if (lines->at)
		memmove(lines->text, lines->text + lines->at, lines->used - lines->at);
	lines->used -= lines->at;
	lines->at = 0;
	if (lines->room > lines->used + 1)
		return 0;
	if (lines->used >= LINES_BYTES_MAX)
		return -EFBIG;
	text = realloc(lines->text, room);
	if (!text)
		return -ENOMEM;
	lines->text = text;
	lines->room = room;
	return 0;
}

/* Returns how many bytes came, 0 at the end, or -errno. */
static ssize_t read_more(struct lines *lines)
{
	size_t got;
	int error = make_room(lines);

	if (error)
		return error;
	errno = 0;
	got = fread(lines->text + lines->used, 1, lines->room - lines->used - 1, lines->in);
	if (!got && ferror(lines->in))
		return errno ? -errno : -EIO;
	lines->used += got;
	return (ssize_t)got;
}

int lines_next(struct lines *lines, char **line, size_t *bytes)
{
	size_t searched = 0;
	ssize_t got;

	for (;;) {
		size_t have = lines->used - lines->at;
		char *end = NULL;

		if (have > searched)
			end = memchr(lines->text + lines->at + searched, '\n', have - searched);
		if (!end) {
			searched = have;
			got = read_more(lines);
			if (got > 0)
				continue;
			if (got < 0 || !have)
				return (int)got;
			end = lines->text + lines->at + have;
		}
		*end = '\0';
		*line = lines->text + lines->at;
		*bytes = (size_t)(end - *line);
		lines->at += *bytes + (lines->at + *bytes < lines->used);
		return 1;
	}
}

void lines_release(struct lines *lines)
{
	free(lines->text);
	*lines = (struct lines){0};
}
