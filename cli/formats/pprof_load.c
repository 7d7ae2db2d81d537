/* SPDX-License-Identifier: MIT */
/*
 * A profile's bytes into memory: plain or gzip, several gzip members included, never more than
 * PPROF_BYTES_MAX whatever the file promises.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "cli/formats/pprof.h"
#include "cli/formats/protobuf.h"

#define PIECE	 65536u
#define GZIP_ANY (15 + 16) /* inflateInit2(): largest window, gzip header wanted */

/* All that @in has. Returns 0, -EFBIG, -ENOMEM or -errno of reading. */
static int read_all(FILE *in, struct bytes *out)
{
	char piece[PIECE];
	size_t got;

	errno = 0;
	while ((got = fread(piece, 1, sizeof(piece), in)) > 0) {
		bytes_put(out, piece, got);
		if (out->error)
			return out->error;
		if (out->used > PPROF_BYTES_MAX)
			return -EFBIG;
	}
	return ferror(in) ? (errno ? -errno : -EIO) : 0;
}

/* Returns 0, -EFBIG, -ENOMEM; -ENODATA when it ends early, -EBADMSG with *@used at the damage. */
static int inflate_all(const struct bytes *packed, struct bytes *out, size_t *used)
{
	z_stream stream = {.next_in = packed->data, .avail_in = (uInt)packed->used};
	uint8_t piece[PIECE];
	int status, error = 0;

	if (inflateInit2(&stream, GZIP_ANY) != Z_OK)
		return -ENOMEM;
	do {
		stream.next_out = piece;
		stream.avail_out = sizeof(piece);
		status = inflate(&stream, Z_NO_FLUSH);
		bytes_put(out, piece, sizeof(piece) - stream.avail_out);
		if (out->error)
			error = out->error;
		else if (out->used > PPROF_BYTES_MAX)
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

static int inflate_in_place(struct bytes *all, const char *name, struct diag_message *message)
{
	struct bytes inflated = {0};
	size_t used = 0;
	int error = inflate_all(all, &inflated, &used);

	bytes_release(error ? &inflated : all);
	if (!error)
		*all = inflated;
	if (error != -EBADMSG && error != -ENODATA)
		return error;
	return diag_fail(message, -EBADMSG, "cannot read '%s': its gzip data %s at byte %zu", name,
		error == -ENODATA ? "ends" : "is damaged", used);
}

int pprof_load(FILE *in, const char *name, void **bytes, size_t *count,
	struct diag_message *message)
{
	struct bytes all = {0};
	int error = read_all(in, &all);

	if (!error && all.used >= 2 && all.data[0] == PPROF_FIRST_GZIP && all.data[1] == 0x8b)
		error = inflate_in_place(&all, name, message);
	if (error) {
		bytes_release(&all);
		if (error == -EFBIG)
			return diag_fail(message, error,
				"cannot read '%s': it holds more than %u MiB", name,
				PPROF_BYTES_MAX >> 20);
		if (error == -EBADMSG)
			return error;
		return diag_fail(message, error, "cannot read '%s': %s", name, strerror(-error));
	}
	/* Never NULL, also for no bytes at all. */
	*bytes = all.data ? all.data : calloc(1, 1);
	if (!*bytes)
		return diag_fail(message, -ENOMEM, "out of memory");
	*count = all.used;
	return 0;
}

/* The types of a Profile's fields 1 to 14. */
static bool is_field_of_profile(const struct protobuf_field *field)
{
	static const uint8_t types[] = {255, 2, 2, 2, 2, 2, 2, 0, 0, 0, 0, 2, 0, 0, 0};

	if (field->number >= sizeof(types))
		return true;
	/* Lists of numbers may be packed. */
	return field->type == types[field->number] || (field->number == 13 && field->type == 2);
}

bool pprof_is_profile(const void *bytes, size_t count)
{
	struct protobuf in = {bytes, (const uint8_t *)bytes + count};
	struct protobuf_field field;
	int more;

	if (!count)
		return false;
	while ((more = protobuf_next(&in, &field)) > 0)
		if (!is_field_of_profile(&field))
			return false;
	return !more;
}
