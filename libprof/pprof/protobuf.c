/* SPDX-License-Identifier: MIT */
/*
 * Read and write varints, fields and nested messages. A message's length stands before the message
 * but is known only at its end. So one byte is reserved for the length, and the message is moved if
 * the length needs more bytes.
 */
#include "libprof/pprof/protobuf.h"

#include <errno.h>
#include <string.h>

#define VARINT_MAX 10
#define FIELD_MAX  (1u << 29) /* one past the highest field number */
/* Write the buffer to the sink when it has this many bytes. */
#define PIECE_BYTES 32768u

/* ---- reading --------------------------------------------------------------------------------- */

static int read_long_varint(struct protobuf *in, uint64_t *value)
{
	uint64_t sum = 0;
	size_t left = protobuf_left(in);

	for (unsigned i = 0; i < VARINT_MAX && i < left; i++) {
		uint8_t byte = in->at[i];

		if (i == VARINT_MAX - 1 && byte > 1)
			return -EBADMSG;
		sum |= (uint64_t)(byte & 0x7f) << 7 * i;
		if (!(byte & 0x80)) {
			in->at += i + 1;
			*value = sum;
			return 0;
		}
	}
	return -EBADMSG;
}

/* Read a varint. Returns 0, or -EBADMSG with @in unchanged. */
static inline int read_varint(struct protobuf *in, uint64_t *value)
{
	/* Most varints have one byte. */
	if (in->at < in->end && *in->at < 0x80) {
		*value = *in->at++;
		return 0;
	}
	return read_long_varint(in, value);
}

static int read_fixed(struct protobuf *in, unsigned bytes, uint64_t *value)
{
	uint64_t sum = 0;

	if (protobuf_left(in) < bytes)
		return -EBADMSG;
	for (unsigned i = 0; i < bytes; i++)
		sum |= (uint64_t)in->at[i] << 8 * i;
	in->at += bytes;
	*value = sum;
	return 0;
}

static int read_bytes(struct protobuf *in, struct protobuf *bytes)
{
	uint64_t count;

	if (read_varint(in, &count) || count > protobuf_left(in))
		return -EBADMSG;
	*bytes = (struct protobuf){in->at, in->at + count};
	in->at += count;
	return 0;
}

static int read_value(struct protobuf *in, struct protobuf_field *field)
{
	switch (field->type) {
	case PROTOBUF_VARINT:
		return read_varint(in, &field->value);
	case PROTOBUF_FIXED64:
		return read_fixed(in, 8, &field->value);
	case PROTOBUF_FIXED32:
		return read_fixed(in, 4, &field->value);
	case PROTOBUF_BYTES:
		return read_bytes(in, &field->bytes);
	}
	return -EBADMSG;
}

int protobuf_next(struct protobuf *in, struct protobuf_field *field)
{
	const uint8_t *start = in->at;
	uint64_t tag;

	if (in->at == in->end)
		return 0;
	*field = (struct protobuf_field){0};
	if (!read_varint(in, &tag) && tag >> 3 && tag >> 3 < FIELD_MAX) {
		field->number = (uint32_t)(tag >> 3);
		field->type = (enum protobuf_type)(tag & 7);
		if (!read_value(in, field))
			return 1;
	}
	in->at = start;
	return -EBADMSG;
}

int protobuf_number(struct protobuf_field *field, uint64_t *number)
{
	if (field->type == PROTOBUF_VARINT) {
		*number = field->value;
		*field = (struct protobuf_field){.number = field->number, .type = PROTOBUF_BYTES};
		return 1;
	}
	if (field->type != PROTOBUF_BYTES)
		return -EBADMSG;
	if (field->bytes.at == field->bytes.end)
		return 0;
	return read_varint(&field->bytes, number) ? -EBADMSG : 1;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void flush_to_sink(struct protobuf_out *out)
{
	if (!out->error && out->used && out->sink) {
		out->error = out->sink(out->context, out->buffer.at, out->used);
		out->used = 0;
	}
}

/* Returns room for @count bytes. Returns NULL without memory or after an earlier failure. */
static uint8_t *reserve_bytes(struct protobuf_out *out, size_t count)
{
	if (!out->error && count > out->buffer.bytes - out->used) {
		size_t least = out->used + count;

		out->account.limit_bytes = SIZE_MAX;
		out->error = pages_reserve(&out->account, &out->buffer,
			least < 2 * PIECE_BYTES ? 2 * PIECE_BYTES : least);
	}
	return out->error ? NULL : (uint8_t *)out->buffer.at + out->used;
}

static size_t encode(uint8_t *at, uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		at[n++] = (uint8_t)value | 0x80;
	at[n++] = (uint8_t)value;
	return n;
}

void protobuf_put_varint(struct protobuf_out *out, uint64_t value)
{
	uint8_t *at = reserve_bytes(out, VARINT_MAX);

	if (at)
		out->used += encode(at, value);
}

static void put_tag(struct protobuf_out *out, uint32_t field, enum protobuf_type type)
{
	/*
	 * Write only between messages, because the length of an open message is still to be filled
	 * in.
	 */
	if (!out->open && out->used >= PIECE_BYTES)
		flush_to_sink(out);
	protobuf_put_varint(out, (uint64_t)field << 3 | type);
}

void protobuf_put_number(struct protobuf_out *out, uint32_t field, uint64_t value)
{
	if (!value)
		return;
	put_tag(out, field, PROTOBUF_VARINT);
	protobuf_put_varint(out, value);
}

void protobuf_put_bytes(struct protobuf_out *out, uint32_t field, const void *bytes, size_t count)
{
	uint8_t *at;

	put_tag(out, field, PROTOBUF_BYTES);
	protobuf_put_varint(out, count);
	at = reserve_bytes(out, count);
	if (!at)
		return;
	memcpy(at, bytes, count);
	out->used += count;
}

size_t protobuf_begin(struct protobuf_out *out, uint32_t field)
{
	put_tag(out, field, PROTOBUF_BYTES);
	protobuf_put_varint(out, 0);
	out->open++;
	return out->used;
}

void protobuf_end(struct protobuf_out *out, size_t begun)
{
	uint8_t length[VARINT_MAX];
	size_t count = out->used - begun, bytes = encode(length, count);
	uint8_t *start;

	out->open--;
	if (!reserve_bytes(out, bytes))
		return;
	start = (uint8_t *)out->buffer.at + begun;
	memmove(start + bytes - 1, start, count);
	memcpy(start - 1, length, bytes);
	out->used += bytes - 1;
}

int protobuf_finish(struct protobuf_out *out)
{
	flush_to_sink(out);
	pages_release(&out->account, &out->buffer);
	out->used = 0;
	return out->error;
}
