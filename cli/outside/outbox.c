/* SPDX-License-Identifier: MIT */
/*
 * A buffer that is emptied from the front and moved down when it is asked for more room.
 */
#include "cli/outside/outbox.h"

#include <errno.h>
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

long outbox_flush(struct outbox *outbox)
{
	while (outbox->from < outbox->to) {
		ssize_t done = write(outbox->descriptor, outbox->bytes + outbox->from,
			outbox->to - outbox->from);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno == EAGAIN)
			break;
		if (done < 0)
			return -errno;
		outbox->from += (size_t)done;
	}
	return (long)(outbox->to - outbox->from);
}

void outbox_release(struct outbox *outbox)
{
	free(outbox->bytes);
	outbox->bytes = NULL;
	outbox->from = outbox->to = outbox->room = 0;
}
