/* SPDX-License-Identifier: MIT */
/* Appending to memory: raw, as variable-length integers, as escaped or dense XML text. */
#include "render/bytes.h"

#include <errno.h>
#include <stdio.h>
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

/* In digits. */
#define DENSE_LINE 640u

/*
 * A range coder run backwards (rANS, https://arxiv.org/abs/1311.2540): the bytes are a number, of
 * which each digit takes away what it is among DENSE_ALL: as many bits as its length in UTF-8 is
 * worth. The number is kept between DENSE_LEAST and 256 times that.
 */
#define DENSE_SHORT 91u	  /* digits of one byte: the first ones */
#define DENSE_LONG  1885u /* of two */
#define DENSE_SHARE 108u  /* of one of a byte, where one of two bytes has 1: about its square */
#define DENSE_ALL   (DENSE_SHORT * DENSE_SHARE + DENSE_LONG)
#define DENSE_LEAST (DENSE_ALL << 9)

_Static_assert(DENSE_LEAST < 1u << 23, "256 times that is a number of 31 bits, in the viewer, too");

static void put_short(struct bytes *bytes, unsigned digit)
{
	static const char digits[] =
		"!\"#$%'()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`"
		"abcdefghijklmnopqrstuvwxyz{|}~";

	_Static_assert(sizeof(digits) == DENSE_SHORT + 1, "all of them");
	bytes_put(bytes, &digits[digit], 1);
}

static void put_long(struct bytes *bytes, unsigned digit)
{
	unsigned code = 0xa1 + digit;

	code += code >= 0xad;  /* a soft hyphen */
	code += code >= 0x61c; /* changes the direction of what is around it */
	bytes_put(
		bytes, (uint8_t[]){(uint8_t)(0xc0 | code >> 6), (uint8_t)(0x80 | (code & 63))}, 2);
}

void bytes_dense(struct bytes *bytes, const uint8_t *data, size_t length)
{
	uint32_t number = DENSE_LEAST;
	char text[16];

	for (size_t count = 1; length; count++) {
		uint32_t part = number % DENSE_ALL;

		number /= DENSE_ALL;
		if (part < DENSE_SHORT * DENSE_SHARE) {
			number = number * DENSE_SHARE + part % DENSE_SHARE;
			put_short(bytes, part / DENSE_SHARE);
		} else {
			put_long(bytes, part - DENSE_SHORT * DENSE_SHARE);
		}
		while (number < DENSE_LEAST)
			number = number << 8 | (length ? data[--length] : 0);
		if (count % DENSE_LINE == 0)
			bytes_text(bytes, "\n");
	}
	snprintf(text, sizeof(text), "\n%u", number);
	bytes_text(bytes, text);
}

void bytes_release(struct bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct bytes){0};
}
