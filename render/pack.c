/* SPDX-License-Identifier: MIT */
/*
 * Deflate fills a buffer whose size is a multiple of 13: so every piece stands alone, and of the
 * bytes only the last ones are less than a full turn of the digits.
 */
#include "render/pack.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

/* Mail and some editors do not like lines of 1000 characters. */
#define LINE_BYTES	 780u
#define LINE_CHARACTERS	 (LINE_BYTES * 16 / 13 + 1) /* with its end */
#define BASE		 91u
#define BLOCK_LINES	 64u
#define BLOCK_BYTES	 (LINE_BYTES * BLOCK_LINES)
#define BLOCK_CHARACTERS (LINE_CHARACTERS * BLOCK_LINES)
#define PIECE_BLOCKS	 16u /* not quite 1 MiB of text */

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

_Static_assert(LINE_BYTES % 13 == 0, "a line ends where digits do");

static void write_text(struct pack *pack, const char *text, size_t length)
{
	if (pack->error)
		return;
	errno = 0;
	if (fwrite(text, 1, length, pack->out) != length)
		pack->error = errno ? -errno : -EIO;
}

/* At most LINE_BYTES. Returns how many characters. */
static size_t encode_line(char *text, const uint8_t *data, size_t length)
{
	/* All of ASCII that can be seen, but &, < and >. */
	static const char digits[] = "!\"#$%'()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~";
	_Static_assert(sizeof(digits) - 1 == BASE, "two digits hold 13 bits");
	uint32_t bits = 0;
	unsigned have = 0;
	size_t used = 0;

	for (size_t i = 0; i < length; i++) {
		bits |= (uint32_t)data[i] << have;
		have += 8;
		if (have < 13)
			continue;
		text[used++] = digits[(bits & 8191) % BASE];
		text[used++] = digits[(bits & 8191) / BASE];
		bits >>= 13;
		have -= 13;
	}
	if (have) {
		text[used++] = digits[bits % BASE];
		if (have > 6)
			text[used++] = digits[bits / BASE];
	}
	text[used++] = '\n';
	return used;
}

static size_t encode(char *text, const uint8_t *data, size_t length)
{
	size_t used = 0;

	for (size_t i = 0; i < length; i += LINE_BYTES)
		used += encode_line(
			text + used, data + i, length - i < LINE_BYTES ? length - i : LINE_BYTES);
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
	if (deflateInit2(&pack->stream, 6, Z_DEFLATED, MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK) {
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
