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

void bytes_release(struct bytes *bytes);

#endif
