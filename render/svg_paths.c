/* SPDX-License-Identifier: MIT */
/*
 * Make a path relative: "M 24 9 L 30.5 9 M 31.5 9 L 40 9" becomes "M24 9h6.5m1 0h8.5". Coordinates
 * are rounded before they are subtracted, so every point is within 0.005 pixel of cairo's. Repeated
 * command letters and unnecessary blanks are left out.
 */
#include "render/svg_paths.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* All coordinates in this file are in hundredths of a pixel. */
#define UNITS	  100
#define DIGITS	  2
#define COORDINATE_MAX (INT64_C(1) << 40)

struct point {
	int64_t x, y;
};

/* The state of converting one path. */
struct path {
	const char *at, *end;
	struct point now;   /* current point */
	struct point start; /* start of the current subpath */
	/* last command written; 0 at the beginning */
	char last;
};

/* Parse the decimal number at *@text into units and advance *@text. Returns 0 if there is none. */
static int read_coordinate(const char **text, const char *end, int64_t *coordinate)
{
	const char *at = *text;
	int is_negative = at < end && *at == '-';
	int64_t value = 0;
	int decimals = -1;

	for (at += is_negative; at < end; at++) {
		if (*at == '.' && decimals < 0) {
			decimals = 0;
			continue;
		}
		if (*at < '0' || *at > '9' || value > COORDINATE_MAX)
			break;
		/* Read one decimal more than DIGITS, for rounding. */
		if (decimals > DIGITS)
			continue;
		value = value * 10 + *at - '0';
		decimals += decimals >= 0;
	}
	if (at == *text + is_negative || (at[-1] < '0' || at[-1] > '9') || value > COORDINATE_MAX ||
		(at < end && *at != ' '))
		return 0;
	for (decimals += decimals < 0; decimals <= DIGITS; decimals++)
		value *= 10;
	value = (value + 5) / 10;
	*coordinate = is_negative ? -value : value;
	*text = at;
	return 1;
}

/* Does the last number in @bytes have a decimal point? */
static int ends_in_fraction(const struct bytes *bytes)
{
	size_t at = bytes->used;

	while (at && bytes->data[at - 1] >= '0' && bytes->data[at - 1] <= '9')
		at--;
	return at && bytes->data[at - 1] == '.';
}

/*
 * Write @value in pixels without redundant zeros. A blank separates it from the previous number,
 * unless it begins with a sign, or with a decimal point after a number that already has one.
 */
static void put_number(struct bytes *bytes, int64_t value, int needs_blank)
{
	char text[32];
	uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
	unsigned part = (unsigned)(size % UNITS);
	int is_fraction = size < UNITS && part;

	needs_blank = needs_blank && !(is_fraction && ends_in_fraction(bytes));
	int length = snprintf(text, sizeof(text), "%s", value < 0 ? "-" : needs_blank ? " " : "");

	if (!is_fraction)
		length += snprintf(text + length, sizeof(text) - (size_t)length, "%llu",
			(unsigned long long)(size / UNITS));
	if (part)
		length += snprintf(text + length, sizeof(text) - (size_t)length,
			part % 10 ? ".%02u" : ".%u", part % 10 ? part : part / 10);
	bytes_put(bytes, text, (size_t)length);
}

static void put_pair(struct bytes *bytes, struct point point, struct point from, int needs_blank)
{
	put_number(bytes, point.x - from.x, needs_blank);
	put_number(bytes, point.y - from.y, 1);
}

static void skip_blanks(struct path *path)
{
	while (path->at < path->end && *path->at == ' ')
		path->at++;
}

static int read_points(struct path *path, struct point *points, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		skip_blanks(path);
		if (!read_coordinate(&path->at, path->end, &points[i].x))
			return 0;
		skip_blanks(path);
		if (!read_coordinate(&path->at, path->end, &points[i].y))
			return 0;
	}
	return 1;
}

/* Write the command's letter unless it repeats the last one. Returns 0 if it was left out. */
static int put_letter(struct bytes *bytes, struct path *path, char letter)
{
	int is_written = path->last != letter || !strchr("cl", letter);

	if (is_written)
		bytes_put(bytes, &letter, 1);
	path->last = letter;
	return is_written;
}

static void put_move(struct bytes *bytes, struct path *path, struct point to)
{
	/* The command Z has moved the current point to the subpath's start. */
	int is_redundant = path->last == 'z' && to.x == path->now.x && to.y == path->now.y;

	if (!is_redundant) {
		struct point from = path->last ? path->now : (struct point){0, 0};

		put_letter(bytes, path, path->last ? 'm' : 'M');
		put_pair(bytes, to, from, 0);
	}
	path->start = to;
}

static void put_line(struct bytes *bytes, struct path *path, struct point to)
{
	struct point from = path->now;

	if (from.y == to.y) {
		put_letter(bytes, path, 'h');
		put_number(bytes, to.x - from.x, 0);
	} else if (from.x == to.x) {
		put_letter(bytes, path, 'v');
		put_number(bytes, to.y - from.y, 0);
	} else {
		int is_written = put_letter(bytes, path, 'l');

		put_pair(bytes, to, from, !is_written);
	}
}

/* Convert the next command. Returns 0 if it is unknown. */
static int put_command(struct bytes *bytes, struct path *path)
{
	char letter = *path->at++;
	unsigned count = letter == 'C' ? 3 : letter == 'Z' ? 0 : 1;
	struct point points[3];

	if (!strchr("MLCZ", letter) || !letter || (!path->last && letter != 'M') ||
		!read_points(path, points, count))
		return 0;
	if (letter == 'M') {
		put_move(bytes, path, points[0]);
	} else if (letter == 'L') {
		put_line(bytes, path, points[0]);
	} else if (letter == 'C') {
		int is_written = put_letter(bytes, path, 'c');

		for (unsigned i = 0; i < 3; i++)
			put_pair(bytes, points[i], path->now, i > 0 || !is_written);
	} else {
		put_letter(bytes, path, 'z');
	}
	path->now = count ? points[count - 1] : path->start;
	return 1;
}

/* Convert an attribute's path data; copy it unchanged if a command is unknown. */
static void put_data(struct bytes *bytes, const char *text, const char *end)
{
	struct path path = {.at = text, .end = end};
	size_t before = bytes->used;

	for (skip_blanks(&path); path.at < end; skip_blanks(&path)) {
		if (!put_command(bytes, &path)) {
			bytes->used = before;
			bytes_put(bytes, text, (size_t)(end - text));
			return;
		}
	}
}

static void put_coordinate(struct bytes *bytes, const char *text, const char *end)
{
	const char *at = text;
	int64_t coordinate;

	if (read_coordinate(&at, end, &coordinate) && at == end)
		put_number(bytes, coordinate, 0);
	else
		bytes_put(bytes, text, (size_t)(end - text));
}

/* The style that cairo writes for the outline of each glyph; it has no effect on glyphs. */
static const char no_stroke[] = " style=\"stroke:none;\"";

/* Copy markup without its indentation. */
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

static void put_value(struct bytes *bytes, const char *value, const char *end, const char *name)
{
	static const char glyph[] = "glyph";
	size_t length = sizeof(glyph) - 1;
	int refers = value < end && *value == '#';

	if ((size_t)(end - value) >= refers + length && !memcmp(value + refers, glyph, length)) {
		bytes_put(bytes, value, (size_t)refers);
		bytes_text(bytes, name);
		value += (size_t)refers + length;
	}
	bytes_put(bytes, value, (size_t)(end - value));
}

static int begins(const char *text, const char *end, const char *wanted)
{
	size_t length = strlen(wanted);

	return (size_t)(end - text) >= length && !memcmp(text, wanted, length);
}

#define SYMBOL "<symbol overflow=\"visible\" id=\""

/*
 * If a glyph's <symbol> element begins at @text, append only the <path> that it contains. Returns
 * the end of the element, or NULL with nothing appended if @text is something else.
 */
static const char *put_glyph(
	struct bytes *bytes, const char *text, const char *end, const char *name)
{
	static const char to_data[] = "\">\n<path style=\"stroke:none;\" d=\"";
	static const char behind_data[] = "\"/>\n</symbol>";

	if (!begins(text, end, SYMBOL))
		return NULL;
	const char *id = text + sizeof(SYMBOL) - 1;
	const char *id_end = memchr(id, '"', (size_t)(end - id));

	if (!id_end || !begins(id_end, end, to_data))
		return NULL;
	const char *data = id_end + sizeof(to_data) - 1;
	const char *data_end = memchr(data, '"', (size_t)(end - data));

	if (!data_end || !begins(data_end, end, behind_data))
		return NULL;
	bytes_text(bytes, "<path id=\"");
	put_value(bytes, id, id_end, name);
	bytes_text(bytes, "\" d=\"");
	put_data(bytes, data, data_end);
	bytes_text(bytes, "\"/>");
	return data_end + sizeof(behind_data) - 1;
}

void svg_paths_put(struct bytes *bytes, const char *text, const char *end, const char *name)
{
	while (text < end) {
		const char *open = memmem(text, (size_t)(end - text), "=\"", 2);
		const char *value = open ? open + 2 : NULL;
		const char *close = value ? memchr(value, '"', (size_t)(end - value)) : NULL;

		if (!close)
			break;
		const char *behind = close + 1;
		size_t needless = sizeof(no_stroke) - 1;
		size_t named = strcspn(SYMBOL, "=");
		const char *symbol = (size_t)(open - text) >= named ? open - named : text;

		put_markup(bytes, text, symbol);
		text = put_glyph(bytes, symbol, end, name);
		if (text)
			continue;
		text = symbol;

		if ((size_t)(behind - text) >= needless &&
			!memcmp(behind - needless, no_stroke, needless)) {
			put_markup(bytes, text, behind - needless);
			text = behind;
			continue;
		}
		put_markup(bytes, text, value);
		/* The name of an attribute that may be shortened: d, x or y. */
		int is_short = open - text >= 2 && open[-2] == ' ';

		if (is_short && open[-1] == 'd')
			put_data(bytes, value, close);
		else if (is_short && (open[-1] == 'x' || open[-1] == 'y'))
			put_coordinate(bytes, value, close);
		else
			put_value(bytes, value, close, name);
		bytes_put(bytes, close, 1);
		text = behind;
	}
	put_markup(bytes, text, end);
}
