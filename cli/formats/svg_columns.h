/* SPDX-License-Identifier: MIT */
/* Read the columns of numbers and texts in a picture (render/embed.h), an untrusted file. */
#ifndef CLI_FORMATS_SVG_COLUMNS_H
#define CLI_FORMATS_SVG_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "libprof/pprof/protobuf.h"
#include "render/bytes.h"

#define SVG_COLUMNS 64u

struct svg_columns {
	struct bytes data; /* inflated */
	/* [enum embed_tag] -> column; empty if there is none */
	struct protobuf at[SVG_COLUMNS];
	/* older than version 1, with other columns for samples */
	bool is_old;
};

/* Does @file contain a picture's data, of any version of flamerun? */
bool svg_columns_are_in(const struct bytes *file);

/*
 * Extract the columns of @file (borrowed for the call) into @columns. Returns 0, or an error with
 * nothing to release: -ENODATA (not a picture of flamerun), -ENOTSUP (another version), -EBADMSG
 * (damaged or truncated), -EFBIG (inflates beyond WHOLE_BYTES_MAX), -ENOMEM.
 */
int svg_columns_init(struct svg_columns *columns, const struct bytes *file);
void svg_columns_release(struct svg_columns *columns);

/* Read the next number of @column. At the end, returns false and sets *@number to 0. */
bool column_number(struct protobuf *column, uint64_t *number);
bool column_signed(struct protobuf *column, int64_t *number);

/*
 * Returns number @i of @count numbers that are stored as planes: the lowest bytes of all numbers,
 * then their second bytes, and so on. @count must not be 0; call column_has_planes() before.
 */
uint32_t column_plane_number(const struct protobuf *column, uint64_t count, uint64_t i);
bool column_has_planes(const struct protobuf *column, uint64_t count);

/*
 * Read the next @bytes of @column; column_text() reads this length from the column first. Returns
 * text from malloc, or NULL if fewer bytes are left or without memory.
 */
char *column_bytes(struct protobuf *column, uint64_t bytes);
char *column_text(struct protobuf *column);

#endif
