/* SPDX-License-Identifier: MIT */
/*
 * Symbol names are untrusted input. Everything drawn or written as XML text went through
 * label_clean() first.
 */
#include "render/label.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- numbers --------------------------------------------------------------------------------- */

void count_text(char *text, size_t bytes, uint64_t count)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, count);
	size_t used = 0;

	for (int i = 0; i < length && used + 2 < bytes; i++) {
		if (i && (length - i) % 3 == 0)
			text[used++] = ',';
		text[used++] = digits[i];
	}
	text[used] = '\0';
}

/* ---- labels ---------------------------------------------------------------------------------- */

#define ELLIPSIS       "\xe2\x80\xa6"
#define ELLIPSIS_BYTES 3u
#define ELLIPSIS_POINT 0x2026u
#define REPLACEMENT    "\xef\xbf\xbd"

/* Characters a label needs besides the ellipsis to be worth its ink. */
#define FEWEST_CHARACTERS 2

/*
 * Bytes of the well-formed UTF-8 sequence at @text, or 0. Unicode 15, table 3-7: no overlong forms,
 * no surrogates, nothing above U+10FFFF.
 */
static size_t sequence_bytes(const unsigned char *text)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t bytes;

	if (text[0] < 0x80)
		return text[0] != 0;
	if (text[0] < 0xc2 || text[0] > 0xf4)
		return 0;
	bytes = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
	if (text[0] == 0xe0)
		low = 0xa0;
	else if (text[0] == 0xed)
		high = 0x9f;
	else if (text[0] == 0xf0)
		low = 0x90;
	else if (text[0] == 0xf4)
		high = 0x8f;
	if (text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < bytes; i++)
		if (text[i] < 0x80 || text[i] > 0xbf)
			return 0;
	return bytes;
}

/* Not in XML 1.0, or able to disturb the text around it. */
static int is_unwanted(uint32_t point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x200e ||
	       point == 0x200f || (point >= 0x2028 && point <= 0x202e) ||
	       (point >= 0x2066 && point <= 0x2069) || point == 0x61c || point == 0xfeff ||
	       (point & 0xfffe) == 0xfffe || (point >= 0xfdd0 && point <= 0xfdef);
}

uint32_t label_next(const char **text)
{
	const unsigned char *at = (const unsigned char *)*text;
	size_t bytes = sequence_bytes(at);
	uint32_t point;

	if (!bytes)
		return 0;
	point = bytes == 1 ? at[0] : at[0] & (0xffu >> (bytes + 1));
	for (size_t i = 1; i < bytes; i++)
		point = point << 6 | (at[i] & 0x3f);
	*text += bytes;
	return point;
}

size_t label_clean(char *clean, size_t room, const char *text)
{
	size_t used = 0, cut = 0;

	while (*text) {
		const char *next = text;
		uint32_t point = label_next(&next);
		const char *piece = text;
		size_t bytes = (size_t)(next - text);

		if (!point || is_unwanted(point)) {
			piece = REPLACEMENT;
			next = point ? next : text + 1;
			bytes = sizeof(REPLACEMENT) - 1;
		}
		if (used + bytes + 1 > room) {
			memcpy(clean + cut, ELLIPSIS, ELLIPSIS_BYTES);
			used = cut + ELLIPSIS_BYTES;
			break;
		}
		memcpy(clean + used, piece, bytes);
		used += bytes;
		if (used + ELLIPSIS_BYTES + 1 <= room)
			cut = used;
		text = next;
	}
	clean[used] = '\0';
	return used;
}

double label_width_px(const char *text, const struct label_measure *measure)
{
	double width_px = 0;

	for (uint32_t point; (point = label_next(&text));)
		width_px += measure->advance_px(measure, point);
	return width_px;
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool ends(const char *text, const char *at, const char *with)
{
	size_t bytes = strlen(with);

	return (size_t)(at - text) >= bytes && !memcmp(at - bytes, with, bytes);
}

/* Does what ends at @at end in an operator's name, as "operator<<"? */
static bool is_operator(const char *text, const char *at)
{
	while (at > text && strchr("<>=!+-*/%^&|~,", at[-1]))
		at--;
	return ends(text, at, "operator");
}

/* Does a '<' at @at open template arguments, rather than being part of a name? */
static bool opens_arguments(const char *text, const char *at)
{
	const char *back = at;

	while (back > text && back[-1] == '<')
		back--;
	if (ends(text, back, "operator"))
		return false;
	/* Rust writes "f::<u32>", but "a::<impl Trait for T>::f" is a name as "<lambda()>" is. */
	if (ends(text, at, "::"))
		return !begins(at, "<impl ") && !begins(at, "<lambda") && !begins(at, "<unnamed");
	/* Rust's "<T as Trait>::f" and Python's "f.<locals>.g" are names. */
	return at > text && !strchr(": (,.", at[-1]);
}

/* Where parameters that begin with the '(' at @at end, NULL when that is none or never closed. */
static const char *parameters_end(const char *text, const char *at)
{
	unsigned depth = 0;

	/* "(anonymous namespace)", "f (x.py:3)", Go's "main.(*T).f", pointers to functions */
	if (at == text || ends(text, at, "operator") || ends(text, at, "decltype") ||
		(strchr(" :.,(<{&*)", at[-1]) && !is_operator(text, at) &&
			!ends(text, at, "operator()")))
		return NULL;
	for (; *at; at++) {
		depth += *at == '(';
		if (*at == ')' && !--depth)
			return at + 1;
	}
	return NULL;
}

/* Behind what a function's parameters are followed by in its name. */
static const char *skip_qualifiers(const char *at)
{
	static const char *const words[] = {" const", " volatile", " noexcept", " &&", " &"};
	size_t i = 0;

	while (i < sizeof(words) / sizeof(*words)) {
		if (begins(at, words[i])) {
			at += strlen(words[i]);
			i = 0;
		} else {
			i++;
		}
	}
	return at;
}

#define CLONE " [clone "

/*
 * The rules of label_short(), which share/viewer/text.js has as well: tests/labels.tsv has the
 * cases of both.
 */
void label_short(char *out, const char *name)
{
	size_t used = 0;
	unsigned depth = 0, braces = 0;

	for (const char *at = name; *at; at++) {
		bool is_arrow = *at == '>' && at > name && at[-1] == '-';
		const char *behind;

		if (*at == '(' && !depth && !braces && (behind = parameters_end(name, at))) {
			behind = skip_qualifiers(behind);
			if (!*behind || begins(behind, "::") || begins(behind, CLONE)) {
				at = behind - 1;
				continue;
			}
		}
		if (!depth && !braces && begins(at, CLONE))
			break;
		if (*at == '<' && !braces && (depth || opens_arguments(name, at))) {
			if (!depth++) {
				memcpy(out + used, "<" ELLIPSIS, 1 + ELLIPSIS_BYTES);
				used += 1 + ELLIPSIS_BYTES;
			}
			continue;
		}
		if (*at == '>' && !is_arrow && depth)
			depth--;
		if (depth)
			continue;
		/* "{lambda(int)#1}" stays. */
		braces += *at == '{';
		braces -= *at == '}' && braces;
		out[used++] = *at;
	}
	out[used] = '\0';
	if (depth || !used)
		strcpy(out, name);
}

/* Cut clean @text to @width_px with an ellipsis. Returns the length, 0 when too little is left. */
static size_t cut_to_width(char *text, double width_px, const struct label_measure *measure)
{
	double left_px = width_px - measure->advance_px(measure, ELLIPSIS_POINT);
	const char *at = text;
	unsigned characters = 0;
	size_t keep = 0;

	for (uint32_t point; (point = label_next(&at)); characters++) {
		left_px -= measure->advance_px(measure, point);
		if (left_px < 0)
			break;
		keep = (size_t)(at - text);
	}
	if (characters < FEWEST_CHARACTERS || keep + ELLIPSIS_BYTES >= LABEL_BYTES)
		return 0;
	memcpy(text + keep, ELLIPSIS, ELLIPSIS_BYTES + 1);
	return keep + ELLIPSIS_BYTES;
}

size_t label_fit(char *fitted, const char *name, double width_px,
	const struct label_measure *measure, enum label_names names)
{
	char shorter[LABEL_SHORT_BYTES(LABEL_BYTES)];
	size_t bytes = label_clean(fitted, LABEL_BYTES, name);

	if (!bytes || (names == LABEL_WHOLE && label_width_px(fitted, measure) <= width_px))
		return bytes;
	label_short(shorter, fitted);
	bytes = strlen(shorter);
	if (bytes < LABEL_BYTES)
		memcpy(fitted, shorter, bytes + 1);
	else
		bytes = strlen(fitted);
	if (label_width_px(fitted, measure) <= width_px)
		return bytes;
	return cut_to_width(fitted, width_px, measure);
}
