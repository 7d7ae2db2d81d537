/* SPDX-License-Identifier: MIT */
/* Read in pieces and stop at the limit, because files may grow or inflate enormously. */
#include "cli/formats/whole.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#define PIECE 65536u

static int read_all(FILE *in, struct bytes *out)
{
	char piece[PIECE];
	size_t got;

	errno = 0;
	while ((got = fread(piece, 1, sizeof(piece), in)) > 0) {
		bytes_put(out, piece, got);
		if (out->error)
			return out->error;
		if (out->used > WHOLE_BYTES_MAX)
			return -EFBIG;
	}
	return ferror(in) ? (errno ? -errno : -EIO) : 0;
}

int whole_refuse(const char *name, int error, struct diag_message *message)
{
	if (error == -EFBIG)
		return diag_fail(message, error, "cannot read '%s': it holds more than %u MiB",
			name, WHOLE_BYTES_MAX >> 20);
	return diag_fail(message, error, "cannot read '%s': %s", name, strerror(-error));
}

int whole_read(FILE *in, const char *name, struct bytes *out, struct diag_message *message)
{
	int error = read_all(in, out);

	if (!error)
		return 0;
	bytes_release(out);
	return whole_refuse(name, error, message);
}

int whole_inflate(const struct bytes *packed, int window_bits, struct bytes *out, size_t *used)
{
	z_stream stream = {.next_in = packed->data, .avail_in = (uInt)packed->used};
	uint8_t piece[PIECE];
	int status, error = 0;

	if (inflateInit2(&stream, window_bits) != Z_OK)
		return -ENOMEM;
	do {
		stream.next_out = piece;
		stream.avail_out = sizeof(piece);
		status = inflate(&stream, Z_NO_FLUSH);
		bytes_put(out, piece, sizeof(piece) - stream.avail_out);
		if (out->error)
			error = out->error;
		else if (out->used > WHOLE_BYTES_MAX)
			error = -EFBIG;
		else if (status == Z_MEM_ERROR)
			error = -ENOMEM;
		else if (status == Z_STREAM_END && stream.avail_in)
			status = inflateReset(&stream);
		else if (status != Z_OK && status != Z_STREAM_END)
			error = status == Z_BUF_ERROR ? -ENODATA : -EBADMSG;
	} while (!error && status != Z_STREAM_END);
	*used = packed->used - stream.avail_in;
	inflateEnd(&stream);
	return error;
}
