/* SPDX-License-Identifier: MIT */
/* Read the columns of numbers and texts in a picture (render/embed.h). The file is untrusted. */
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
	/* from before version 1, which has other columns for samples */
	bool is_old;
};

/* Does @file have data of flamerun, of any version? */
bool svg_columns_are_in(const struct bytes *file);

/*
 * Extract the columns of @file (borrowed for the call) into the caller's @columns. Returns 0; or
 * with nothing to release -ENODATA (not a picture of flamerun), -ENOTSUP (another version),
 * -EBADMSG (damaged or truncated), -EFBIG (inflates beyond WHOLE_BYTES_MAX), -ENOMEM.
 */
int svg_columns_init(struct svg_columns *columns, const struct bytes *file);
void svg_columns_release(struct svg_columns *columns);

/* Read the next number of @column. Returns false, with a number of 0, at the end. */
bool column_number(struct protobuf *column, uint64_t *number);
bool column_signed(struct protobuf *column, int64_t *number);

/*
 * Returns number @i of @count numbers that are stored as planes: the lowest byte of each number,
 * then the second byte of each. @count is not 0, and column_has_planes() was true.
 */
uint32_t column_plane_number(const struct protobuf *column, uint64_t count, uint64_t i);
bool column_has_planes(const struct protobuf *column, uint64_t count);

/*
 * Read the next @bytes of @column; column_text() reads their number first. Returns text from
 * malloc, or NULL if there are fewer bytes or out of memory.
 */
char *column_bytes(struct protobuf *column, uint64_t bytes);
char *column_text(struct protobuf *column);

#endif
