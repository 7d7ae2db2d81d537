/* SPDX-License-Identifier: MIT */
/* JSON (RFC 8259). The first character of a value determines its type. */
#include "cli/formats/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT 0xfffdu
/* Longer numbers are refused; a double has fewer digits. */
#define NUMBER_BYTES 64

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && is_blank(*at))
		at++;
	return at;
}

static bool begins(const struct json *value, char c)
{
	return value->at < value->end && *value->at == c;
}

/* ---- the end of a value ---------------------------------------------------------------------- */

/* Returns the end of the string at @at, or NULL if it is not terminated. */
static const char *end_of_text(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		if (*at == '\\')
			at++;
	return at < end ? at + 1 : NULL;
}

static const char *end_of_word(const char *at, const char *end)
{
	while (at < end && !is_blank(*at) && !strchr(",:]}[{\"", *at))
		at++;
	return at;
}

/* Returns the end of the list or object at @at, or NULL. `is_list` has a bit per open bracket. */
static const char *end_of_nested(const char *at, const char *end)
{
	uint64_t is_list = 0;
	unsigned depth = 0;

	while (at < end) {
		char c = *at++;

		if (c == '"') {
			at = end_of_text(at - 1, end);
			if (!at)
				return NULL;
		} else if (c == '[' || c == '{') {
			if (depth++ == JSON_DEPTH_MAX)
				return NULL;
			is_list = is_list << 1 | (c == '[');
		} else if (c == ']' || c == '}') {
			if ((is_list & 1) != (c == ']'))
				return NULL;
			is_list >>= 1;
			if (!--depth)
				return at;
		}
	}
	return NULL;
}

/* Read the value at unread->at. Returns 0 or -EBADMSG. */
static int read_value(struct json *unread, struct json *value)
{
	const char *begin = skip_blanks(unread->at, unread->end), *end;

	unread->at = begin;
	if (begin == unread->end)
		return -EBADMSG;
	if (*begin == '"')
		end = end_of_text(begin, unread->end);
	else if (*begin == '[' || *begin == '{')
		end = end_of_nested(begin, unread->end);
	else
		end = end_of_word(begin, unread->end);
	if (!end || end == begin)
		return -EBADMSG;
	*value = (struct json){begin, end};
	unread->at = skip_blanks(end, unread->end);
	return 0;
}

int json_begin(const char *text, size_t bytes, struct json *value)
{
	struct json unread = {text, text + bytes};
	int error = read_value(&unread, value);

	return error || unread.at < unread.end ? -EBADMSG : 0;
}

/* ---- lists and objects ----------------------------------------------------------------------- */

bool json_is_object(const struct json *value)
{
	return begins(value, '{');
}

bool json_is_text(const struct json *value)
{
	return begins(value, '"');
}

/* Set @inside to the contents of @value without its brackets. Returns 0 or -EBADMSG. */
static int enter(const struct json *value, char open, struct json *inside)
{
	if (!begins(value, open))
		return -EBADMSG;
	*inside = (struct json){skip_blanks(value->at + 1, value->end - 1), value->end - 1};
	return 0;
}

int json_list(const struct json *value, struct json *list)
{
	return enter(value, '[', list);
}

int json_object(const struct json *value, struct json *object)
{
	return enter(value, '{', object);
}

/* Check that a comma and another item, or the end, follow an item. Returns 1 or -EBADMSG. */
static int end_item(struct json *unread)
{
	if (unread->at == unread->end)
		return 1;
	if (*unread->at != ',')
		return -EBADMSG;
	unread->at = skip_blanks(unread->at + 1, unread->end);
	return unread->at == unread->end ? -EBADMSG : 1;
}

int json_next(struct json *list, struct json *item)
{
	int error;

	if (list->at == list->end)
		return 0;
	error = read_value(list, item);
	return error ? error : end_item(list);
}

int json_next_member(struct json *object, struct json *name, struct json *value)
{
	int error;

	if (object->at == object->end)
		return 0;
	error = read_value(object, name);
	if (error || !json_is_text(name) || !begins(object, ':'))
		return -EBADMSG;
	object->at++;
	error = read_value(object, value);
	return error ? error : end_item(object);
}

int json_member(const struct json *value, const char *name, struct json *member)
{
	struct json object, found;
	size_t bytes = strlen(name);
	int more = json_object(value, &object);

	if (more)
		return more;
	while ((more = json_next_member(&object, &found, member)) > 0)
		if ((size_t)(found.end - found.at) == bytes + 2 &&
			!memcmp(found.at + 1, name, bytes))
			return 1;
	return more;
}

/* ---- numbers and texts ----------------------------------------------------------------------- */

int json_number(const struct json *value, double *number)
{
	size_t bytes = (size_t)(value->end - value->at);
	char digits[NUMBER_BYTES], *end;
	double found;

	/* Reject words and hexadecimal numbers, which strtod() accepts but JSON does not allow. */
	if (!bytes || bytes >= sizeof(digits))
		return -EBADMSG;
	for (size_t i = 0; i < bytes; i++)
		if (!strchr("0123456789+-.eE", value->at[i]) || !value->at[i])
			return -EBADMSG;
	memcpy(digits, value->at, bytes);
	digits[bytes] = '\0';
	found = strtod(digits, &end);
	if (*end || !isfinite(found))
		return -EBADMSG;
	*number = found;
	return 0;
}

int json_index(const struct json *value, uint32_t limit, uint32_t *number)
{
	uint64_t found = 0;

	/* Avoid strtod(), which is slower, because most of a profile is such numbers. */
	if (value->at == value->end)
		return -EBADMSG;
	for (const char *at = value->at; at < value->end; at++) {
		if (*at < '0' || *at > '9')
			return -EBADMSG;
		found = found * 10 + (unsigned)(*at - '0');
		if (found >= limit)
			return -EBADMSG;
	}
	*number = (uint32_t)found;
	return 0;
}

/* Parse four hexadecimal digits. Returns -1 if there are other characters. */
static int32_t parse_hex(const char *at, const char *end)
{
	int32_t unit = 0;

	if (end - at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = (char)(at[i] | 0x20);

		if (at[i] >= '0' && at[i] <= '9')
			unit = unit << 4 | (at[i] - '0');
		else if (c >= 'a' && c <= 'f')
			unit = unit << 4 | (c - 'a' + 10);
		else
			return -1;
	}
	return unit;
}

/* Decode "\uXXXX" or a surrogate pair. *@at is after the 'u', and is advanced past the escape. */
static int read_escape(const char **at, const char *end, uint32_t *point)
{
	int32_t high = parse_hex(*at, end), low = -1;

	if (high < 0)
		return -EBADMSG;
	*at += 4;
	if (high >= 0xd800 && high < 0xdc00 && end - *at >= 6 && (*at)[0] == '\\' &&
		(*at)[1] == 'u')
		low = parse_hex(*at + 2, end);
	if (low >= 0xdc00 && low < 0xe000) {
		*at += 6;
		*point = 0x10000 + ((uint32_t)(high - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
	} else {
		*point = !high || (high >= 0xd800 && high < 0xe000) ? REPLACEMENT : (uint32_t)high;
	}
	return 0;
}

static size_t encode(uint32_t point, char out[4])
{
	static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
	size_t bytes = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;

	for (size_t i = bytes - 1; i > 0; i--) {
		out[i] = (char)(0x80 | (point & 0x3f));
		point >>= 6;
	}
	out[0] = bytes == 1 ? (char)point : (char)(first[bytes] | point);
	return bytes;
}

/* Decode the character at *@at into @out. Returns its length in bytes, or -EBADMSG. */
static int read_character(const char **at, const char *end, char out[4])
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const char *letter;
	uint32_t point = REPLACEMENT;
	int error = 0;

	if (**at != '\\') {
		if (**at) {
			out[0] = *(*at)++;
			return 1;
		}
		++*at;
		return (int)encode(REPLACEMENT, out);
	}
	if (++*at == end)
		return -EBADMSG;
	letter = **at ? strchr(letters, **at) : NULL;
	if (letter) {
		++*at;
		out[0] = meant[letter - letters];
		return 1;
	}
	if (*(*at)++ != 'u')
		return -EBADMSG;
	error = read_escape(at, end, &point);
	return error ? error : (int)encode(point, out);
}

int json_text(const struct json *value, char *out, size_t room)
{
	const char *at = value->at + 1, *end = value->end - 1;
	size_t used = 0;

	if (!json_is_text(value))
		return -EBADMSG;
	while (at < end) {
		char character[4];
		int bytes = read_character(&at, end, character);

		if (bytes < 0)
			return bytes;
		if (used + (size_t)bytes >= room)
			break;
		memcpy(out + used, character, (size_t)bytes);
		used += (size_t)bytes;
	}
	out[used] = '\0';
	return 0;
}
