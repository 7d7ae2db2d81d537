/* SPDX-License-Identifier: MIT */
/*
 * The columns of numbers and texts in a picture, see render/embed.h, out of a file that may hold
 * anything.
 */
#ifndef CLI_FORMATS_SVG_COLUMNS_H
#define CLI_FORMATS_SVG_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "libprof/pprof/protobuf.h"
#include "render/bytes.h"

#define SVG_COLUMNS 64u

struct svg_columns {
	struct bytes data;		 /* inflated */
	struct protobuf at[SVG_COLUMNS]; /* by enum embed_tag; empty where there is none */
	bool is_old;			 /* from before version 1: samples have other columns */
};

/* Has @file data of flamerun's, of whatever version? */
bool svg_columns_are_in(const struct bytes *file);

/*
 * Find the columns of @file (borrowed for the call) into the caller's @columns. Returns 0; or with
 * nothing to release -ENODATA (no picture of flamerun's), -ENOTSUP (of another version), -EBADMSG
 * (damaged or cut off), -EFBIG (it inflates beyond WHOLE_BYTES_MAX), -ENOMEM.
 */
int svg_columns_init(struct svg_columns *columns, const struct bytes *file);
void svg_columns_release(struct svg_columns *columns);

/* Take the next number of @column. Returns false, with 0, where there is none. */
bool column_number(struct protobuf *column, uint64_t *number);
bool column_signed(struct protobuf *column, int64_t *number);

/*
 * Number @i of the @count that @column has in planes; 0 < @count, and the column was seen to hold
 * them by column_has_planes().
 */
uint32_t column_plane_number(const struct protobuf *column, uint64_t count, uint64_t i);
bool column_has_planes(const struct protobuf *column, uint64_t count);

/*
 * Take the next @bytes of @column, or with column_text() as many as the number before them says.
 * Returns text from malloc, or NULL: there are not so many, or no memory.
 */
char *column_bytes(struct protobuf *column, uint64_t bytes);
char *column_text(struct protobuf *column);

#endif
