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

/*
 * A range coder run backwards (rANS, https://arxiv.org/abs/1311.2540): the bytes are a number, of
 * which each digit takes away what it is among DENSE_ALL: as many bits as its length in UTF-8 is
 * worth. The number is kept between DENSE_LEAST and 256 times that.
 */
#define DENSE_SHORT 94u	    /* digits of one byte */
#define DENSE_LONG  1885u   /* of two */
#define DENSE_WIDE  0xb700u /* of three, from U+2100 on */
/* Of one of a byte and of two, where one of three has 1: about 114 times that of one byte more. */
#define SHORT_SHARE 13000u
#define LONG_SHARE  114u
#define SHORT_ALL   (DENSE_SHORT * SHORT_SHARE)
#define LONG_ALL    (DENSE_LONG * LONG_SHARE)
#define DENSE_ALL   (SHORT_ALL + LONG_ALL + DENSE_WIDE)
#define DENSE_LEAST ((uint64_t)DENSE_ALL << 9)

_Static_assert(DENSE_LEAST < 1ull << 45, "256 times that is a whole number in the viewer, too");

static void put_short(struct bytes *bytes, unsigned digit)
{
	static const char digits[] =
		"\n!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\^_`"
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

static void put_wide(struct bytes *bytes, unsigned digit)
{
	unsigned code = 0x2100 + digit;

	bytes_put(bytes,
		(uint8_t[]){(uint8_t)(0xe0 | code >> 12), (uint8_t)(0x80 | (code >> 6 & 63)),
			(uint8_t)(0x80 | (code & 63))},
		3);
}

void bytes_dense(struct bytes *bytes, const uint8_t *data, size_t length)
{
	uint64_t number = DENSE_LEAST;
	char text[24];

	while (length) {
		unsigned part = (unsigned)(number % DENSE_ALL);

		number /= DENSE_ALL;
		if (part < SHORT_ALL) {
			number = number * SHORT_SHARE + part % SHORT_SHARE;
			put_short(bytes, part / SHORT_SHARE);
		} else if (part < SHORT_ALL + LONG_ALL) {
			part -= SHORT_ALL;
			number = number * LONG_SHARE + part % LONG_SHARE;
			put_long(bytes, part / LONG_SHARE);
		} else {
			put_wide(bytes, part - SHORT_ALL - LONG_ALL);
		}
		while (number < DENSE_LEAST)
			number = number << 8 | (length ? data[--length] : 0);
	}
	snprintf(text, sizeof(text), " %llu", (unsigned long long)number);
	bytes_text(bytes, text);
}

void bytes_release(struct bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct bytes){0};
}
