/* SPDX-License-Identifier: MIT */
/*
 * The encoder.
 */
#include "libprof/aggregator/protobuf_out.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define VARINT_MAX 10

enum wire_type {
	TYPE_VARINT = 0,
	TYPE_BYTES = 2,
};

static uint32_t put_varint(uint8_t *at, uint64_t value)
{
	uint32_t n = 0;

	for (; value >= 0x80; value >>= 7)
		at[n++] = (uint8_t)value | 0x80;
	at[n++] = (uint8_t)value;
	return n;
}

static uint32_t varint_bytes(uint64_t value)
{
	uint32_t n = 1;

	while (value >>= 7)
		n++;
	return n;
}

static uint64_t tag(uint32_t field, enum wire_type type)
{
	return (uint64_t)field << 3 | type;
}

int protobuf_out_flush(struct protobuf_out *out)
{
	for (uint32_t at = 0; !out->error && at < out->used;) {
		ssize_t n = write(out->descriptor, out->buffer + at, out->used - at);

		if (n > 0)
			at += (uint32_t)n;
		else if (n == 0 || errno != EINTR)
			out->error = n ? -errno : -EIO;
	}
	out->used = 0;
	return out->error;
}

static void put(struct protobuf_out *out, const void *bytes, size_t n)
{
	const uint8_t *at = bytes;

	while (n && !out->error) {
		size_t part = sizeof(out->buffer) - out->used;

		if (!part) {
			protobuf_out_flush(out);
			continue;
		}
		part = part < n ? part : n;
		memcpy(out->buffer + out->used, at, part);
		out->used += (uint32_t)part;
		at += part;
		n -= part;
	}
}

static void put_head(struct protobuf_out *out, uint64_t tag_value, uint64_t value)
{
	uint8_t head[2 * VARINT_MAX];
	uint32_t n = put_varint(head, tag_value);

	n += put_varint(head + n, value);
	put(out, head, n);
}

void protobuf_out_number(struct protobuf_out *out, uint32_t field, uint64_t value)
{
	if (value)
		put_head(out, tag(field, TYPE_VARINT), value);
}

/* How many bytes the valid UTF-8 character at @s has, 0 when there is none. Source: RFC 3629. */
static unsigned utf8_bytes(const uint8_t *s)
{
	unsigned n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if ((s[0] >= 0x80 && s[0] < 0xc2) || s[0] > 0xf4)
		return 0;
	for (unsigned i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* Too long a form, a surrogate, beyond the last character. */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
		(s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

void protobuf_out_string(struct protobuf_out *out, uint32_t field, const char *text)
{
	const uint8_t *at = (const uint8_t *)text;

	put_head(out, tag(field, TYPE_BYTES), strlen(text));
	while (*at && !out->error) {
		unsigned n = utf8_bytes(at);

		put(out, n ? (const void *)at : "?", n ? n : 1);
		at += n ? n : 1;
	}
}

/* Room for @n bytes of the message being built, NULL when it is too long. */
static uint8_t *extend(struct protobuf_out *out, size_t n)
{
	uint8_t *at = out->message + out->message_used;

	if (out->error)
		return NULL;
	if (n > sizeof(out->message) - out->message_used) {
		out->error = -EMSGSIZE;
		return NULL;
	}
	return at;
}

void protobuf_message_number(struct protobuf_out *out, uint32_t field, uint64_t value)
{
	uint8_t *at = value ? extend(out, 2 * VARINT_MAX) : NULL;

	if (!at)
		return;
	out->message_used += put_varint(at, tag(field, TYPE_VARINT));
	out->message_used += put_varint(out->message + out->message_used, value);
}

static void message_bytes_head(struct protobuf_out *out, uint32_t field, uint64_t bytes)
{
	out->message_used += put_varint(out->message + out->message_used, tag(field, TYPE_BYTES));
	out->message_used += put_varint(out->message + out->message_used, bytes);
}

void protobuf_message_numbers(
	struct protobuf_out *out, uint32_t field, const uint64_t *values, uint32_t n)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < n; i++)
		bytes += varint_bytes(values[i]);
	if (!bytes || !extend(out, 2 * VARINT_MAX + bytes))
		return;
	message_bytes_head(out, field, bytes);
	for (uint32_t i = 0; i < n; i++)
		out->message_used += put_varint(out->message + out->message_used, values[i]);
}

void protobuf_message_pair(struct protobuf_out *out, uint32_t field, uint32_t first_field,
	uint64_t first, uint32_t second_field, uint64_t second)
{
	uint64_t bytes = 0;

	if (first)
		bytes += varint_bytes(tag(first_field, TYPE_VARINT)) + varint_bytes(first);
	if (second)
		bytes += varint_bytes(tag(second_field, TYPE_VARINT)) + varint_bytes(second);
	if (!extend(out, 2 * VARINT_MAX + bytes))
		return;
	message_bytes_head(out, field, bytes);
	protobuf_message_number(out, first_field, first);
	protobuf_message_number(out, second_field, second);
}

void protobuf_message_end(struct protobuf_out *out, uint32_t field)
{
	if (!out->error) {
		put_head(out, tag(field, TYPE_BYTES), out->message_used);
		put(out, out->message, out->message_used);
	}
	out->message_used = 0;
}
