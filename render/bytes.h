/* SPDX-License-Identifier: MIT */
/*
 * A growing run of bytes. After the first failed allocation it is poisoned: further calls do
 * nothing and bytes->error tells at the end. Zero-initialise.
 */
#ifndef RENDER_BYTES_H
#define RENDER_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct bytes {
	uint8_t *data; /* owned */
	size_t used;
	size_t room;
	int error; /* 0 or -ENOMEM */
};

void bytes_put(struct bytes *bytes, const void *data, size_t length);
void bytes_text(struct bytes *bytes, const char *text); /* without the NUL */

/* LEB128: seven bits a byte, lowest first, the eighth set on all but the last. */
void bytes_varint(struct bytes *bytes, uint64_t value);

/* A varint in which small negative numbers are short too: 0, -1, 1, -2, ... */
void bytes_signed(struct bytes *bytes, int64_t value);

/* Text as XML character data and attribute values have it. @text is clean UTF-8 (see label.h). */
void bytes_xml(struct bytes *bytes, const char *text);

/*
 * Bytes as text that a CDATA section takes as it stands, 17 % more of it than bytes; behind it are
 * a space and a number as decimals. Digits are, in their order, the line feed and the characters
 * from U+0021 to U+D7FF, but for "]", which could end the section, controls, two that cannot be
 * seen, and U+0800 to U+20FF, among which are spaces and marks of direction. One of one byte has a
 * share of 13000, one of two bytes of 114, one of three of 1; its place is the sum of the shares of
 * those before it. They are read from their end: while the number is a digit's share times 2^17 or
 * more, its lowest byte is said and taken away; then it becomes
 *
 *	number / share * all + place + number % share
 *
 * of which @all is the sum of all shares, and in the end @all << 9. What was said, after a few
 * zeros, is @data.
 */
void bytes_dense(struct bytes *bytes, const uint8_t *data, size_t length);

void bytes_release(struct bytes *bytes);

#endif
