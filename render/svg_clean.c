/* SPDX-License-Identifier: MIT */
#include "render/svg_clean.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_BYTES 32u

/* A point of a path, as the text that is written. */
struct point {
	char x[NUMBER_BYTES], y[NUMBER_BYTES];
};

/*
 * Read the decimal number at *@text, round it to 0.01, write it to @out without redundant digits,
 * and advance *@text. Returns 0 if a number does not begin at *@text or does not end before a blank
 * or @end.
 */
static int read_number(const char **text, const char *end, char out[NUMBER_BYTES])
{
	const char *close = *text;
	char copy[NUMBER_BYTES], *behind;
	size_t bytes;

	while (close < end && *close && strchr("-.0123456789", *close))
		close++;
	bytes = (size_t)(close - *text);
	if (!bytes || bytes >= sizeof(copy) - strlen(".00") || (close < end && *close != ' '))
		return 0;
	memcpy(copy, *text, bytes);
	copy[bytes] = '\0';
	snprintf(out, NUMBER_BYTES, "%.2f", strtod(copy, &behind));
	if (*behind)
		return 0;
	bytes = strlen(out);
	while (out[bytes - 1] == '0')
		bytes--;
	bytes -= out[bytes - 1] == '.';
	out[bytes] = '\0';
	if (!strcmp(out, "-0"))
		strcpy(out, "0");
	*text = close;
	return 1;
}

static void skip_blanks(const char **text, const char *end)
{
	while (*text < end && **text == ' ')
		++*text;
}

static int read_point(const char **text, const char *end, struct point *point)
{
	skip_blanks(text, end);
	if (!read_number(text, end, point->x))
		return 0;
	skip_blanks(text, end);
	return read_number(text, end, point->y);
}

/*
 * Append the command at *@text of a path and advance *@text. @now is the current point. Returns 0
 * if the command is unknown.
 */
static int put_command(struct bytes *bytes, const char **text, const char *end, struct point *now)
{
	char letter = *(*text)++;
	unsigned points = letter == 'C' ? 3 : letter == 'M' || letter == 'L' ? 1 : 0;
	struct point point;

	if (!points && letter != 'Z')
		return 0;
	bytes_put(bytes, &letter, 1);
	for (unsigned i = 0; i < points; i++) {
		if (!read_point(text, end, &point))
			return 0;
		if (letter == 'L' && !strcmp(point.y, now->y)) {
			bytes->data[bytes->used - 1] = 'H';
			bytes_text(bytes, point.x);
			return 1;
		}
		bytes_text(bytes, i ? " " : "");
		bytes_text(bytes, point.x);
		bytes_text(bytes, " ");
		bytes_text(bytes, point.y);
	}
	/* After Z, the current point is the start of the subpath, which is not kept. */
	*now = points ? point : (struct point){"", ""};
	return 1;
}

/* Append the path data from @text to @end, unchanged if one of its commands is unknown. */
static void put_path(struct bytes *bytes, const char *text, const char *end)
{
	struct point now = {"", ""};
	size_t before = bytes->used;

	for (const char *at = text; skip_blanks(&at, end), at < end;) {
		if (bytes->error || !put_command(bytes, &at, end, &now)) {
			bytes->used = before;
			bytes_put(bytes, text, (size_t)(end - text));
			return;
		}
	}
}

static void put_coordinate(struct bytes *bytes, const char *text, const char *end)
{
	char number[NUMBER_BYTES];
	const char *at = text;

	if (read_number(&at, end, number) && at == end)
		bytes_text(bytes, number);
	else
		bytes_put(bytes, text, (size_t)(end - text));
}

static int begins(const char *text, const char *end, const char *wanted)
{
	size_t length = strlen(wanted);

	return (size_t)(end - text) >= length && !memcmp(text, wanted, length);
}

/* Append a name or a reference ("#" and a name). */
static void put_name(struct bytes *bytes, const char *text, const char *end, const char *name)
{
	static const char glyph[] = "glyph";

	if (text < end && *text == '#')
		bytes_put(bytes, text++, 1);
	if (begins(text, end, glyph)) {
		bytes_text(bytes, name);
		text += strlen(glyph);
	}
	bytes_put(bytes, text, (size_t)(end - text));
}

/* Append the declarations "fill:none;stroke-width:17;" as attributes, each with a blank before. */
static void put_style(struct bytes *bytes, const char *text, const char *end)
{
	while (text < end) {
		const char *close = memchr(text, ';', (size_t)(end - text));
		const char *colon = memchr(text, ':', (size_t)((close ? close : end) - text));

		if (!close)
			close = end;
		if (colon) {
			bytes_text(bytes, " ");
			bytes_put(bytes, text, (size_t)(colon - text));
			bytes_text(bytes, "=\"");
			bytes_put(bytes, colon + 1, (size_t)(close - colon - 1));
			bytes_text(bytes, "\"");
		}
		text = close + (close < end);
	}
}

/* Append markup without its indentation. */
static void put_markup(struct bytes *bytes, const char *text, const char *end)
{
	while (text < end) {
		const char *line = memchr(text, '\n', (size_t)(end - text));
		const char *behind = line ? line + 1 : end;

		bytes_put(bytes, text, (size_t)(behind - text));
		for (text = behind; line && text < end && *text == ' ';)
			text++;
	}
}

void svg_clean_put(struct bytes *bytes, const char *text, const char *end, const char *name)
{
	static const char style[] = " style";

	while (text < end) {
		const char *open = memmem(text, (size_t)(end - text), "=\"", 2);
		const char *value = open ? open + 2 : NULL;
		const char *close = value ? memchr(value, '"', (size_t)(end - value)) : NULL;
		const char *attribute = open;

		if (!close)
			break;
		while (attribute > text && attribute[-1] != '\n' && *attribute != ' ')
			attribute--;
		if (begins(attribute, open, style) && attribute + strlen(style) == open) {
			put_markup(bytes, text, attribute);
			put_style(bytes, value, close);
			text = close + 1;
			continue;
		}
		put_markup(bytes, text, value);
		if (begins(attribute, value, " d="))
			put_path(bytes, value, close);
		else if (begins(attribute, value, " x=") || begins(attribute, value, " y="))
			put_coordinate(bytes, value, close);
		else
			put_name(bytes, value, close, name);
		bytes_put(bytes, close, 1);
		text = close + 1;
	}
	put_markup(bytes, text, end);
}
