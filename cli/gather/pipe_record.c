/* SPDX-License-Identifier: MIT */
/*
 * The writing end of a pipe: a buffer of bytes that are not yet written. To make room for a record,
 * these bytes are moved to the start of the buffer. The reading end is pipe_reader.c.
 */
#include "cli/gather/pipe_record.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int make_room(struct pipe_writer *pipe_writer, size_t bytes)
{
	size_t used = pipe_writer->to - pipe_writer->from;
	size_t room = pipe_writer->room ? pipe_writer->room : 1u << 16;
	char *more;

	if (pipe_writer->room - pipe_writer->to >= bytes)
		return 0;
	if (used)
		memmove(pipe_writer->bytes, pipe_writer->bytes + pipe_writer->from, used);
	pipe_writer->from = 0;
	pipe_writer->to = used;
	while (room - used < bytes)
		room *= 2;
	if (room == pipe_writer->room)
		return 0;
	more = room <= PIPE_WRITER_BYTES_MAX ? realloc(pipe_writer->bytes, room) : NULL;
	if (!more)
		return -ENOMEM;
	pipe_writer->bytes = more;
	pipe_writer->room = room;
	return 0;
}

int pipe_writer_put(struct pipe_writer *pipe_writer, enum record_type type, void *head,
	size_t head_bytes, const void *tail, size_t tail_bytes)
{
	size_t bytes = (head_bytes + tail_bytes + 7) & ~(size_t)7;
	struct record record = {.bytes = (uint32_t)bytes, .type = type};
	char *to;

	if (make_room(pipe_writer, bytes))
		return -ENOMEM;
	to = pipe_writer->bytes + pipe_writer->to;
	memcpy(head, &record, sizeof(record));
	memcpy(to, head, head_bytes);
	if (tail_bytes)
		memcpy(to + head_bytes, tail, tail_bytes);
	memset(to + head_bytes + tail_bytes, 0, bytes - head_bytes - tail_bytes);
	pipe_writer->to += bytes;
	return 0;
}

int pipe_writer_put_sample(struct pipe_writer *pipe_writer, uint64_t image,
	const struct wire_sample *sample, const void *frames)
{
	struct record_sample record = {
		.image = image,
		.time_ns = sample->time_ns,
		.thread = sample->thread,
		.weight = sample->weight,
		.frames = sample->frames,
		.kind = sample->kind,
		.end = sample->end,
	};

	return pipe_writer_put(pipe_writer, RECORD_SAMPLE, &record, sizeof(record), frames,
		sample->frames * sizeof(uint64_t));
}

int pipe_writer_put_refusal(
	struct pipe_writer *pipe_writer, uint64_t programs, bool by_stops, const char *why)
{
	struct record_refusal record = {.programs = programs, .by_stops = by_stops};

	return pipe_writer_put(pipe_writer, RECORD_REFUSAL, &record,
		offsetof(struct record_refusal, text), why, strlen(why) + 1);
}

long pipe_writer_flush(struct pipe_writer *pipe_writer)
{
	while (pipe_writer->from < pipe_writer->to) {
		ssize_t done =
			write(pipe_writer->descriptor, pipe_writer->bytes + pipe_writer->from,
				pipe_writer->to - pipe_writer->from);

		if (done >= 0)
			pipe_writer->from += (size_t)done;
		else if (errno == EAGAIN)
			break;
		else if (errno != EINTR)
			return -errno;
	}
	return (long)(pipe_writer->to - pipe_writer->from);
}

int pipe_writer_finish(struct pipe_writer *pipe_writer)
{
	long left;

	while ((left = pipe_writer_flush(pipe_writer)) > 0) {
		struct pollfd pipe = {.fd = pipe_writer->descriptor, .events = POLLOUT};

		poll(&pipe, 1, -1);
	}
	return (int)left;
}

void pipe_writer_release(struct pipe_writer *pipe_writer)
{
	free(pipe_writer->bytes);
	pipe_writer->bytes = NULL;
	pipe_writer->from = pipe_writer->to = pipe_writer->room = 0;
}
