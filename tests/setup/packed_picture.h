/* SPDX-License-Identifier: MIT */
/*
 * Make an SVG that contains columns of numbers as a picture does (render/embed.c), but no drawing.
 */
#ifndef TESTS_SETUP_PACKED_PICTURE_H
#define TESTS_SETUP_PACKED_PICTURE_H

#include <stdlib.h>
#include <zlib.h>

#include "render/bytes.h"

static void put_base64(struct bytes *out, const uint8_t *data, size_t count)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = 0;
	unsigned have = 0;

	for (size_t i = 0; i < count; i++) {
		bits = bits << 8 | data[i];
		for (have += 8; have >= 6; have -= 6)
			bytes_put(out, &digits[bits >> (have - 6) & 63], 1);
	}
	if (have)
		bytes_put(out, &digits[bits << (6 - have) & 63], 1);
}

#define PACKED_PICTURE	   "data-format=\"1\""
#define PACKED_OLD_PICTURE "data-version=\"3\""

/* Returns the SVG file, with the attribute @version. The caller releases it. */
static struct bytes packed_picture(const char *version, const void *columns, size_t count)
{
	struct bytes file = {0};
	uLongf packed_bytes = compressBound(count);
	uint8_t *packed = malloc(packed_bytes);

	if (!packed || compress(packed, &packed_bytes, columns, count) != Z_OK)
		abort();
	bytes_text(&file, "<svg><metadata id=\"flamerun\" ");
	bytes_text(&file, version);
	bytes_text(&file, "><piece>");
	put_base64(&file, packed, packed_bytes);
	bytes_text(&file, "</piece></metadata></svg>");
	free(packed);
	return file;
}

#endif
