/* SPDX-License-Identifier: MIT */
#include "render/svg_clean.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest text of a number. */
#define NUMBER_BYTES 32u

/* In hundredths of a pixel. */
struct point {
	long long x, y;
};

struct path {
	struct point now, start; /* the current point, and the start of its subpath */
	int has_begun;
};

/*
 * Read the decimal number at *@text, round it to hundredths, and advance *@text. Returns 0 if a
 * number does not begin at *@text or does not end before a blank or @end.
 */
static int read_number(const char **text, const char *end, long long *hundredths)
{
	const char *close = *text;
	char copy[NUMBER_BYTES], *behind;
	size_t bytes;

	while (close < end && *close && strchr("-.0123456789", *close))
		close++;
	bytes = (size_t)(close - *text);
	if (!bytes || bytes > sizeof("-1000000000000.00000000") - 1 ||
		(close < end && *close != ' '))
		return 0;
	memcpy(copy, *text, bytes);
	copy[bytes] = '\0';
	*hundredths = llround(fmax(-1e15, fmin(1e15, 100 * strtod(copy, &behind))));
	if (*behind)
		return 0;
	*text = close;
	return 1;
}

/* Append a number of pixels. A sign needs no blank before it. */
static void put_number(struct bytes *bytes, long long hundredths, int needs_blank)
{
	unsigned long long size = (unsigned long long)llabs(hundredths), part = size % 100;
	char text[NUMBER_BYTES];

	bytes_text(bytes, hundredths < 0 ? "-" : needs_blank ? " " : "");
	if (size >= 100 || !part) {
		snprintf(text, sizeof(text), "%llu", size / 100);
		bytes_text(bytes, text);
	}
	if (part) {
		snprintf(text, sizeof(text), part % 10 ? ".%02llu" : ".%llu",
			part % 10 ? part : part / 10);
		bytes_text(bytes, text);
	}
}

static void skip_blanks(const char **text, const char *end)
{
	while (*text < end && **text == ' ')
		++*text;
}

static int read_point(const char **text, const char *end, struct point *point)
{
	skip_blanks(text, end);
	if (!read_number(text, end, &point->x))
		return 0;
	skip_blanks(text, end);
	return read_number(text, end, &point->y);
}

static void put_pair(struct bytes *bytes, struct point to, struct point from, int needs_blank)
{
	put_number(bytes, to.x - from.x, needs_blank);
	put_number(bytes, to.y - from.y, 1);
}

static void put_line(struct bytes *bytes, struct point to, struct point from)
{
	if (to.y == from.y) {
		bytes_text(bytes, "h");
		put_number(bytes, to.x - from.x, 0);
	} else if (to.x == from.x) {
		bytes_text(bytes, "v");
		put_number(bytes, to.y - from.y, 0);
	} else {
		bytes_text(bytes, "l");
		put_pair(bytes, to, from, 0);
	}
}

/*
 * Append the command at *@text of @path, relative to the current point, and advance *@text. Returns
 * 0 if the command is unknown.
 */
static int put_command(struct bytes *bytes, const char **text, const char *end, struct path *path)
{
	char letter = *(*text)++;
	unsigned count = letter == 'C' ? 3 : letter == 'M' || letter == 'L' ? 1 : 0;
	struct point points[3];

	if ((!count && letter != 'Z') || (!path->has_begun && letter != 'M'))
		return 0;
	for (unsigned i = 0; i < count; i++)
		if (!read_point(text, end, &points[i]))
			return 0;
	if (letter == 'L')
		put_line(bytes, points[0], path->now);
	else
		bytes_text(bytes, letter == 'C'	    ? "c"
				  : letter == 'Z'   ? "z"
				  : path->has_begun ? "m"
						    : "M");
	for (unsigned i = 0; letter != 'L' && i < count; i++)
		put_pair(bytes, points[i], path->now, i > 0);
	path->now = count ? points[count - 1] : path->start;
	if (letter == 'M')
		path->start = path->now;
	path->has_begun = 1;
	return 1;
}

/* Append the path data from @text to @end, unchanged if one of its commands is unknown. */
static void put_path(struct bytes *bytes, const char *text, const char *end)
{
	struct path path = {.has_begun = 0};
	size_t before = bytes->used;

	for (const char *at = text; skip_blanks(&at, end), at < end;) {
		if (bytes->error || !put_command(bytes, &at, end, &path)) {
			bytes->used = before;
			bytes_put(bytes, text, (size_t)(end - text));
			return;
		}
	}
}

static void put_coordinate(struct bytes *bytes, const char *text, const char *end)
{
	const char *at = text;
	long long hundredths;

	if (read_number(&at, end, &hundredths) && at == end)
		put_number(bytes, hundredths, 0);
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
