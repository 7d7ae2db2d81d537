/* SPDX-License-Identifier: MIT */
/*
 * Protocol buffers as bytes: one field after the other out of memory that may hold anything, and
 * fields appended to a growing run of bytes. No schema lives here.
 * Format: https://protobuf.dev/programming-guides/encoding
 */
#ifndef CLI_FORMATS_PROTOBUF_H
#define CLI_FORMATS_PROTOBUF_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "render/bytes.h"

enum protobuf_type {
	PROTOBUF_VARINT = 0,
	PROTOBUF_FIXED64 = 1,
	PROTOBUF_BYTES = 2, /* text, message, or packed numbers */
	PROTOBUF_FIXED32 = 5
};

/* What is left to read of one message; borrowed memory. */
struct protobuf {
	const uint8_t *at;
	const uint8_t *end;
};

struct protobuf_field {
	uint32_t number;
	enum protobuf_type type;
	uint64_t value;	       /* of a varint or a fixed number */
	struct protobuf bytes; /* of PROTOBUF_BYTES */
};

static inline size_t protobuf_left(const struct protobuf *in)
{
	return (size_t)(in->end - in->at);
}

/* Read one varint. Returns 0, or -EBADMSG with @in where it was. */
static inline int protobuf_varint(struct protobuf *in, uint64_t *value)
{
	uint64_t sum = 0;
	size_t left = protobuf_left(in);

	for (unsigned i = 0; i < 10 && i < left; i++) {
		uint8_t byte = in->at[i];

		if (i == 9 && byte > 1)
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

static inline int protobuf_fixed(struct protobuf *in, unsigned bytes, uint64_t *value)
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

static inline int protobuf_bytes(struct protobuf *in, struct protobuf *bytes)
{
	uint64_t count;

	if (protobuf_varint(in, &count) || count > protobuf_left(in))
		return -EBADMSG;
	*bytes = (struct protobuf){in->at, in->at + count};
	in->at += count;
	return 0;
}

/*
 * Read the next field. Returns 1 and the field, 0 at the end, or -EBADMSG with in->at at the field
 * that is none.
 */
static inline int protobuf_next(struct protobuf *in, struct protobuf_field *field)
{
	const uint8_t *start = in->at;
	uint64_t tag;
	int error;

	if (in->at == in->end)
		return 0;
	*field = (struct protobuf_field){0};
	error = protobuf_varint(in, &tag);
	if (!error && (tag >> 3 == 0 || tag >> 3 >= 1u << 29))
		error = -EBADMSG;
	if (!error) {
		field->number = (uint32_t)(tag >> 3);
		field->type = (enum protobuf_type)(tag & 7);
		switch (tag & 7) {
		case PROTOBUF_VARINT:
			error = protobuf_varint(in, &field->value);
			break;
		case PROTOBUF_FIXED64:
			error = protobuf_fixed(in, 8, &field->value);
			break;
		case PROTOBUF_FIXED32:
			error = protobuf_fixed(in, 4, &field->value);
			break;
		case PROTOBUF_BYTES:
			error = protobuf_bytes(in, &field->bytes);
			break;
		default:
			error = -EBADMSG;
		}
	}
	if (error)
		in->at = start;
	return error ? error : 1;
}

/*
 * Take the next number of a list that @field is one piece of, packed or not.
 * Returns 1 and the number, 0 when there is no more, or -EBADMSG.
 */
static inline int protobuf_number(struct protobuf_field *field, uint64_t *number)
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
	return protobuf_varint(&field->bytes, number) ? -EBADMSG : 1;
}

/* A number that is not there is 0: such fields are left out. */
static inline void protobuf_put_number(struct bytes *out, uint32_t number, uint64_t value)
{
	if (!value)
		return;
	bytes_varint(out, (uint64_t)number << 3 | PROTOBUF_VARINT);
	bytes_varint(out, value);
}

/* Also when empty: an element of a list. */
static inline void protobuf_put_bytes(
	struct bytes *out, uint32_t number, const void *bytes, size_t count)
{
	bytes_varint(out, (uint64_t)number << 3 | PROTOBUF_BYTES);
	bytes_varint(out, count);
	bytes_put(out, bytes, count);
}

static inline void protobuf_put_text(struct bytes *out, uint32_t number, const char *text)
{
	protobuf_put_bytes(out, number, text, strlen(text));
}

/* Append the message collected in @part and empty that for the next. */
static inline void protobuf_put_message(struct bytes *out, uint32_t number, struct bytes *part)
{
	protobuf_put_bytes(out, number, part->data, part->used);
	if (part->error && !out->error)
		out->error = part->error;
	part->used = 0;
}

#endif
