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
 * Bytes as text that XML takes as it stands, 18 % more of it than bytes, with line ends; behind the
 * last one is a number as decimals. Digits are the characters from U+0021 to U+07FF in their order,
 * without markup, controls, spaces and two that cannot be seen. They are read from their end: of
 * one among the first 91 the share is 108 and its place 108 times itself; of another one the share
 * is 1 and its place that of the 91st and as many more as it is behind that. While the number is
 * its share times 2^17 or more, its lowest byte is said and taken away; then it becomes
 *
 *	number / share * 11713 + place + number % share
 *
 * and in the end 11713 << 9. What was said, after two zeros at most, is @data.
 */
void bytes_dense(struct bytes *bytes, const uint8_t *data, size_t length);

void bytes_release(struct bytes *bytes);

#endif
