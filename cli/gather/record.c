/* SPDX-License-Identifier: MIT */
/*
 * The writing end of the pipe: a buffer that is emptied from the front and moved down when it is
 * asked for more room. Pieces that the kernel writes at once carry a key, so that nobody else's
 * bytes count. The reading end is intake.c.
 */
#include "cli/gather/record.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int make_room(struct outbox *outbox, size_t bytes)
{
	size_t used = outbox->to - outbox->from;
	size_t room = outbox->room ? outbox->room : 1u << 16;
	char *more;

	if (outbox->room - outbox->to >= bytes)
		return 0;
	if (used)
		memmove(outbox->bytes, outbox->bytes + outbox->from, used);
	outbox->from = 0;
	outbox->to = used;
	while (room - used < bytes)
		room *= 2;
	if (room == outbox->room)
		return 0;
	more = room <= OUTBOX_BYTES_MAX ? realloc(outbox->bytes, room) : NULL;
	if (!more)
		return -ENOMEM;
	outbox->bytes = more;
	outbox->room = room;
	return 0;
}

int outbox_put(struct outbox *outbox, enum record_type type, void *head, size_t head_bytes,
	const void *tail, size_t tail_bytes)
{
	size_t bytes = (head_bytes + tail_bytes + 7) & ~(size_t)7;
	struct record record = {.bytes = (uint32_t)bytes, .type = type};
	char *to;

	if (make_room(outbox, bytes))
		return -ENOMEM;
	to = outbox->bytes + outbox->to;
	memcpy(head, &record, sizeof(record));
	memcpy(to, head, head_bytes);
	if (tail_bytes)
		memcpy(to + head_bytes, tail, tail_bytes);
	memset(to + head_bytes + tail_bytes, 0, bytes - head_bytes - tail_bytes);
	outbox->to += bytes;
	return 0;
}

/* One piece. The kernel takes all of it or nothing. Returns bytes of records, or -errno. */
static long write_piece(const struct outbox *outbox)
{
	size_t bytes = outbox->to - outbox->from;
	struct pipe_head head = {.key = outbox->key, .source = (uint16_t)outbox->source};
	char piece[PIPE_BUF];
	ssize_t done;

	if (bytes > PIPE_PIECE_BYTES_MAX)
		bytes = PIPE_PIECE_BYTES_MAX;
	head.bytes = (uint16_t)bytes;
	memcpy(piece, &head, sizeof(head));
	memcpy(piece + sizeof(head), outbox->bytes + outbox->from, bytes);
	do {
		done = write(outbox->descriptor, piece, sizeof(head) + bytes);
	} while (done < 0 && errno == EINTR);
	return done < 0 ? -errno : (long)bytes;
}

long outbox_flush(struct outbox *outbox)
{
	while (outbox->from < outbox->to) {
		long done = write_piece(outbox);

		if (done == -EAGAIN)
			break;
		if (done < 0)
			return done;
		outbox->from += (size_t)done;
	}
	return (long)(outbox->to - outbox->from);
}

int outbox_finish(struct outbox *outbox)
{
	long left;

	while ((left = outbox_flush(outbox)) > 0) {
		struct pollfd pipe = {.fd = outbox->descriptor, .events = POLLOUT};

		poll(&pipe, 1, -1);
	}
	return (int)left;
}

void outbox_release(struct outbox *outbox)
{
	free(outbox->bytes);
	outbox->bytes = NULL;
	outbox->from = outbox->to = outbox->room = 0;
}
