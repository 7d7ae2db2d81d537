/* SPDX-License-Identifier: MIT */
/* Append to a growing buffer: raw bytes, variable-length integers, escaped XML text. */
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

void bytes_release(struct bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct bytes){0};
}
