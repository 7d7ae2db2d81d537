/* SPDX-License-Identifier: MIT */
/*
 * A buffer of bytes that grows. Zero-initialise it. After a failed allocation bytes->error is set
 * and all further calls do nothing, so callers check bytes->error once at the end.
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

/* Append @length bytes of @data, or append a text. The input is borrowed. */
void bytes_put(struct bytes *bytes, const void *data, size_t length);
void bytes_text(struct bytes *bytes, const char *text); /* the NUL is not appended */

/* Append @value as LEB128: seven bits per byte, lowest first; bit 7 is set in all but the last. */
void bytes_varint(struct bytes *bytes, uint64_t value);

/* Append @value as LEB128 after zigzag encoding (0, -1, 1, -2 become 0, 1, 2, 3). */
void bytes_signed(struct bytes *bytes, int64_t value);

/*
 * Append @text escaped as XML character data or attribute value. @text must be valid UTF-8, as
 * label_clean() returns it.
 */
void bytes_xml(struct bytes *bytes, const char *text);

void bytes_release(struct bytes *bytes);

#endif
