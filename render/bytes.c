/* SPDX-License-Identifier: MIT */
/* Appending to memory: raw, as variable-length integers, as escaped or dense XML text. */
#include "render/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void bytes_put(struct bytes *bytes, const void *data, size_t length)
{
	if (bytes->error || !length)
		return;
	if (bytes->room - bytes->used < length) {
		size_t room = bytes->room ? bytes->room * 2 : 4096;

		while (room - bytes->used < length)
			room *= 2;
		uint8_t *grown = realloc(bytes->data, room);

		if (!grown) {
			bytes->error = -ENOMEM;
			return;
		}
		bytes->data = grown;
		bytes->room = room;
	}
	memcpy(bytes->data + bytes->used, data, length);
	bytes->used += length;
}

void bytes_text(struct bytes *bytes, const char *text)
{
	bytes_put(bytes, text, strlen(text));
}

void bytes_varint(struct bytes *bytes, uint64_t value)
{
	uint8_t encoded[10];
	size_t length = 0;

	do {
		encoded[length] = (uint8_t)(value & 0x7f);
		value >>= 7;
		if (value)
			encoded[length] |= 0x80;
		length++;
	} while (value);
	bytes_put(bytes, encoded, length);
}

void bytes_signed(struct bytes *bytes, int64_t value)
{
	bytes_varint(bytes, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

void bytes_xml(struct bytes *bytes, const char *text)
{
	for (;;) {
		size_t plain = strcspn(text, "&<>\"'");

		bytes_put(bytes, text, plain);
		text += plain;
		switch (*text++) {
		case '&':
			bytes_text(bytes, "&amp;");
			break;
		case '<':
			bytes_text(bytes, "&lt;");
			break;
		case '>':
			bytes_text(bytes, "&gt;");
			break;
		case '"':
			bytes_text(bytes, "&quot;");
			break;
		case '\'':
			bytes_text(bytes, "&#39;");
			break;
		default:
			return;
		}
	}
}

#define DENSE_LINE 720u

void bytes_dense(struct bytes *bytes, const uint8_t *data, size_t length)
{
	static const char digits[] =
		"!\"#$%'()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`"
		"abcdefghijklmnopqrstuvwxyz{|}~";
	uint32_t bits = 0;
	unsigned have = 0, column = 0;

	_Static_assert(sizeof(digits) == 91 + 1, "pairs are 13 bits and 89 numbers more");
	for (size_t i = 0; i < length || have;) {
		if (have <= 13 && i < length) {
			bits |= (uint32_t)data[i++] << have;
			have += 8;
			continue;
		}
		unsigned taken = (bits & 8191) < 89 ? 14 : 13;
		uint32_t value = bits & ((1u << taken) - 1);
		int is_pair = have > 7 || value > 90;

		taken = taken < have ? taken : have;
		bits >>= taken;
		have -= taken;
		bytes_put(bytes, &digits[value % 91], 1);
		if (is_pair)
			bytes_put(bytes, &digits[value / 91], 1);
		column += 2;
		if (column % DENSE_LINE == 0)
			bytes_text(bytes, "\n");
	}
}

void bytes_release(struct bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct bytes){0};
}
