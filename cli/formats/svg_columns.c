/* SPDX-License-Identifier: MIT */
/* Find the element with the data by text search: the file may be HTML, not well-formed XML. */
#include "cli/formats/svg_columns.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "cli/formats/whole.h"

#define ELEMENT	      "metadata"
#define PIECE_ELEMENT "piece"

/* Value of attribute data-format (see flamerun-svg(5)); and of data-version in older pictures. */
#define FORMAT	    "1"
#define OLD_VERSION "3"

/* ---- from text to bytes ---------------------------------------------------------------------- */

/* The unread part of the file's text. */
struct text {
	const char *at, *end;
};

/* Returns the first occurrence of @what in @text, or NULL. */
static const char *find(struct text text, const char *what)
{
	return memmem(text.at, (size_t)(text.end - text.at), what, strlen(what));
}

/* Does @tag (the text between '<' and '>') have attribute @name with @value? */
static bool has_attribute(struct text tag, const char *name, const char *value)
{
	char wanted[64];

	for (const char *quote = "\"'"; *quote; quote++) {
		snprintf(wanted, sizeof(wanted), " %s=%c%s%c", name, *quote, value, *quote);
		if (find(tag, wanted))
			return true;
	}
	return false;
}

/*
 * Find the next element @name, and advance @text past it. Returns its tag and its contents. An
 * element must not contain another one of the same name.
 */
static bool next_element(struct text *text, const char *name, struct text *tag, struct text *inner)
{
	char open[32], close[32];
	const char *found, *end;

	snprintf(open, sizeof(open), "<%s", name);
	snprintf(close, sizeof(close), "</%s>", name);
	while ((found = find(*text, open))) {
		text->at = found + strlen(open);
		end = memchr(text->at, '>', (size_t)(text->end - text->at));
		if (!end)
			return false;
		*tag = (struct text){text->at, end};
		*inner = (struct text){end + 1, find((struct text){end + 1, text->end}, close)};
		if (*tag->at != ' ' && tag->at != tag->end)
			continue; /* the beginning of a longer name */
		if (!inner->end)
			return false;
		text->at = inner->end + strlen(close);
		return true;
	}
	return false;
}

static bool find_data(const struct bytes *file, struct text *tag, struct text *inner)
{
	struct text text;

	if (!file->used)
		return false;
	text = (struct text){(const char *)file->data, (const char *)file->data + file->used};
	while (next_element(&text, ELEMENT, tag, inner))
		if (has_attribute(*tag, "id", "flamerun"))
			return true;
	return false;
}

/* Returns the value of a base64 digit, or -1. */
static int digit_value(char digit)
{
	if (digit >= 'A' && digit <= 'Z')
		return digit - 'A';
	if (digit >= 'a' && digit <= 'z')
		return digit - 'a' + 26;
	if (digit >= '0' && digit <= '9')
		return digit - '0' + 52;
	return digit == '+' ? 62 : digit == '/' ? 63 : -1;
}

/* Decode one piece of base64, which has whole bytes. Returns 0 or -EBADMSG. */
static int decode_piece(struct text piece, struct bytes *out)
{
	uint32_t bits = 0;
	unsigned count = 0;

	for (; piece.at < piece.end; piece.at++) {
		int value = digit_value(*piece.at);

		if (strchr(" \t\r\n=", *piece.at) && *piece.at)
			continue;
		if (value < 0)
			return -EBADMSG;
		bits = bits << 6 | (uint32_t)value;
		count += 6;
		if (count >= 8) {
			count -= 8;
			bytes_put(out, (uint8_t[]){(uint8_t)(bits >> count)}, 1);
		}
	}
	return 0;
}

/* Decode all pieces in @inner and inflate them. Returns 0 or -errno; -EBADMSG for damaged text. */
static int unpack(struct text inner, struct bytes *data)
{
	struct bytes packed = {0};
	struct text tag, piece;
	size_t used;
	int error = 0;

	while (!error && next_element(&inner, PIECE_ELEMENT, &tag, &piece))
		error = decode_piece(piece, &packed);
	if (!error)
		error = packed.error;
	if (!error)
		error = whole_inflate(&packed, MAX_WBITS, data, &used);
	bytes_release(&packed);
	return error == -ENODATA ? -EBADMSG : error;
}

/* ---- columns --------------------------------------------------------------------------------- */

bool column_number(struct protobuf *column, uint64_t *number)
{
	struct protobuf_field list = {.type = PROTOBUF_BYTES, .bytes = *column};
	bool is_there = protobuf_number(&list, number) > 0;

	*column = list.bytes;
	if (!is_there)
		*number = 0;
	return is_there;
}

bool column_signed(struct protobuf *column, int64_t *number)
{
	uint64_t zigzag;
	bool is_there = column_number(column, &zigzag);

	*number = (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1);
	return is_there;
}

bool column_has_planes(const struct protobuf *column, uint64_t count)
{
	uint64_t bytes = protobuf_left(column);

	return count && bytes % count == 0 && bytes / count >= 1 &&
	       bytes / count <= sizeof(uint32_t);
}

uint32_t column_plane_number(const struct protobuf *column, uint64_t count, uint64_t i)
{
	uint64_t planes = protobuf_left(column) / count;
	uint32_t number = 0;

	for (uint64_t plane = planes; plane-- > 0;)
		number = number << 8 | column->at[plane * count + i];
	return number;
}

char *column_bytes(struct protobuf *column, uint64_t bytes)
{
	char *text = bytes <= protobuf_left(column)
			     ? strndup((const char *)column->at, (size_t)bytes)
			     : NULL;

	if (text)
		column->at += bytes;
	return text;
}

char *column_text(struct protobuf *column)
{
	uint64_t bytes;

	return column_number(column, &bytes) ? column_bytes(column, bytes) : NULL;
}

/* Returns 0 or -EBADMSG. */
static int find_columns(struct svg_columns *columns)
{
	struct protobuf data;
	uint64_t tag, bytes;

	if (!columns->data.used)
		return -EBADMSG;
	data = (struct protobuf){columns->data.data, columns->data.data + columns->data.used};
	while (protobuf_left(&data)) {
		if (!column_number(&data, &tag) || !column_number(&data, &bytes) ||
			bytes > protobuf_left(&data))
			return -EBADMSG;
		if (tag < SVG_COLUMNS)
			columns->at[tag] = (struct protobuf){data.at, data.at + bytes};
		data.at += bytes;
	}
	return 0;
}

bool svg_columns_are_in(const struct bytes *file)
{
	struct text tag, inner;

	return find_data(file, &tag, &inner);
}

int svg_columns_init(struct svg_columns *columns, const struct bytes *file)
{
	struct text tag, inner;
	int error;

	*columns = (struct svg_columns){.data = {0}};
	if (!find_data(file, &tag, &inner))
		return -ENODATA;
	columns->is_old = has_attribute(tag, "data-version", OLD_VERSION);
	if (!columns->is_old && !has_attribute(tag, "data-format", FORMAT))
		return -ENOTSUP;
	error = unpack(inner, &columns->data);
	if (!error)
		error = find_columns(columns);
	if (error)
		svg_columns_release(columns);
	return error;
}

void svg_columns_release(struct svg_columns *columns)
{
	bytes_release(&columns->data);
}
