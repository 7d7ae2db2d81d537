/* SPDX-License-Identifier: MIT */
/*
 * Deflate fills a buffer whose size is a multiple of three, so that the base64 of every piece
 * stands alone and the pieces joined are the base64 of the whole.
 */
#include "render/pack.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#define BLOCK_BYTES	 49152u
#define BLOCK_CHARACTERS (BLOCK_BYTES / 3 * 4)
#define PIECE_BLOCKS	 16u /* 1 MiB of text */

struct pack {
	z_stream stream;
	FILE *out;
	const char *open;
	const char *close;
	unsigned blocks; /* in the piece being written */
	int error;
	uint8_t block[BLOCK_BYTES];
	char text[BLOCK_CHARACTERS];
};

_Static_assert(BLOCK_BYTES % 3 == 0, "only the last block may need padding");

static void write_text(struct pack *pack, const char *text, size_t length)
{
	if (pack->error)
		return;
	errno = 0;
	if (fwrite(text, 1, length, pack->out) != length)
		pack->error = errno ? -errno : -EIO;
}

static size_t encode(char *text, const uint8_t *data, size_t length)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t used = 0;

	for (size_t i = 0; i < length; i += 3) {
		size_t have = length - i;
		unsigned bits = (unsigned)data[i] << 16 |
				(have > 1 ? (unsigned)data[i + 1] : 0) << 8 |
				(have > 2 ? (unsigned)data[i + 2] : 0);

		text[used++] = digits[bits >> 18];
		text[used++] = digits[bits >> 12 & 63];
		text[used++] = have > 1 ? digits[bits >> 6 & 63] : '=';
		text[used++] = have > 2 ? digits[bits & 63] : '=';
	}
	return used;
}

static void flush_block(struct pack *pack)
{
	size_t length = BLOCK_BYTES - pack->stream.avail_out;

	if (length) {
		if (!pack->blocks)
			fputs(pack->open, pack->out);
		write_text(pack, pack->text, encode(pack->text, pack->block, length));
		if (++pack->blocks == PIECE_BLOCKS) {
			fputs(pack->close, pack->out);
			pack->blocks = 0;
		}
	}
	pack->stream.next_out = pack->block;
	pack->stream.avail_out = BLOCK_BYTES;
}

struct pack *pack_new(FILE *out, const char *open, const char *close)
{
	struct pack *pack = calloc(1, sizeof(*pack));

	if (!pack)
		return NULL;
	if (deflateInit2(&pack->stream, 6, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(pack);
		return NULL;
	}
	pack->out = out;
	pack->open = open;
	pack->close = close;
	pack->stream.next_out = pack->block;
	pack->stream.avail_out = BLOCK_BYTES;
	return pack;
}

void pack_put(struct pack *pack, const void *data, size_t length)
{
	const uint8_t *bytes = data;

	while (length && !pack->error) {
		/* zlib counts in unsigned int. */
		uInt part = length > 1u << 30 ? 1u << 30 : (uInt)length;

		pack->stream.next_in = (Bytef *)(uintptr_t)bytes;
		pack->stream.avail_in = part;
		while (pack->stream.avail_in && !pack->error) {
			if (deflate(&pack->stream, Z_NO_FLUSH) != Z_OK)
				pack->error = -EIO;
			if (!pack->stream.avail_out)
				flush_block(pack);
		}
		bytes += part;
		length -= part;
	}
}

int pack_finish(struct pack *pack)
{
	int status = Z_OK;

	while (!pack->error && status != Z_STREAM_END) {
		status = deflate(&pack->stream, Z_FINISH);
		if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
			pack->error = -EIO;
		if (!pack->stream.avail_out || status == Z_STREAM_END)
			flush_block(pack);
	}
	if (pack->blocks)
		fputs(pack->close, pack->out);
	if (!pack->error && ferror(pack->out))
		pack->error = -EIO;
	return pack->error;
}

void pack_free(struct pack *pack)
{
	if (!pack)
		return;
	deflateEnd(&pack->stream);
	free(pack);
}
