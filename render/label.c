/* SPDX-License-Identifier: MIT */
/*
 * Clean, shorten and measure text for display. Symbol names are untrusted, so every text that is
 * drawn or written as XML must pass through label_clean() or label_fit().
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

/* A label with fewer characters (without the ellipsis) says nothing and is not drawn. */
#define FEWEST_CHARACTERS 2

/*
 * Returns the length of the well-formed UTF-8 sequence at @text, or 0. Overlong forms, surrogates
 * and code points above U+10FFFF are not well-formed (Unicode 15, table 3-7).
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

/* Is the code point forbidden in XML 1.0, or can it reorder the text around it (bidi controls)? */
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

/* Does the text before @at end in an operator's name, such as "operator<<"? */
static bool is_operator(const char *text, const char *at)
{
	while (at > text && strchr("<>=!+-*/%^&|~,", at[-1]))
		at--;
	return ends(text, at, "operator");
}

/* Does the '<' at @at open template arguments? Otherwise the '<' is part of a name. */
static bool opens_arguments(const char *text, const char *at)
{
	const char *back = at;

	while (back > text && back[-1] == '<')
		back--;
	if (ends(text, back, "operator"))
		return false;
	/*
	 * After "::", a '<' opens arguments in Rust's "f::<u32>" but belongs to the name in
	 * "a::<impl Trait for T>::f" and "<lambda()>".
	 */
	if (ends(text, at, "::"))
		return !begins(at, "<impl ") && !begins(at, "<lambda") && !begins(at, "<unnamed");
	/* In "<T as Trait>::f" (Rust) and "f.<locals>.g" (Python) the '<' belongs to a name. */
	return at > text && !strchr(": (,.", at[-1]);
}

/* Returns the end of the parameters that begin at @at, a '(', or NULL if none begin there. */
static const char *parameters_end(const char *text, const char *at)
{
	unsigned depth = 0;

	/* No parameters: "(anonymous namespace)", "f (x.py:3)", "main.(*T).f", function types. */
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

/* Skip the qualifiers that follow a function's parameters. */
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

/* share/viewer/label.js has the same rules; tests/labels.tsv has test cases for both. */
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
		/* In "{lambda(int)#1}" the parameters are part of the name. */
		braces += *at == '{';
		braces -= *at == '}' && braces;
		out[used++] = *at;
	}
	out[used] = '\0';
	if (depth || !used)
		strcpy(out, name);
}

/* ---- cutting names --------------------------------------------------------------------------- */

/* If both ends of a name together would have fewer characters, show only its beginning. */
#define FEWEST_OF_BOTH_ENDS 6u
/* Show a part of the namespace before a function's own name only if this many characters fit. */
#define FEWEST_BEFORE 2u
/* Show at least this many last digits of an address, which usually distinguish it from others. */
#define FEWEST_OF_ADDRESS 4u

/*
 * A text, and for each character the distance in pixels from the text's start to the character's
 * end.
 */
struct measured {
	const char *text; /* borrowed */
	unsigned count;
	double ellipsis_px;
	/* [character] -> offset of its end in bytes */
	size_t ends[LABEL_BYTES];
	double px[LABEL_BYTES];
};

/* The characters of a name that remain: [head, head_end) and [tail, tail_end). */
struct cut {
	unsigned head, head_end, tail, tail_end;
};

static void measure_text(
	struct measured *all, const char *text, const struct label_measure *measure)
{
	const char *at = text;

	all->text = text;
	all->count = 0;
	all->ellipsis_px = measure->advance_px(measure, ELLIPSIS_POINT);
	all->ends[0] = 0;
	all->px[0] = 0;
	for (uint32_t point; all->count + 1 < LABEL_BYTES && (point = label_next(&at));) {
		double px = all->px[all->count++] + measure->advance_px(measure, point);

		all->ends[all->count] = (size_t)(at - text);
		all->px[all->count] = px;
	}
}

/* Returns the end of the longest run of characters that begins at @from and fits into @width_px. */
static unsigned end_that_fits(const struct measured *all, unsigned from, double width_px)
{
	while (from < all->count && all->px[from + 1] - all->px[from] <= width_px) {
		width_px -= all->px[from + 1] - all->px[from];
		from++;
	}
	return from;
}

/* Returns the start (>= @first) of the longest run that ends the text and fits into @width_px. */
static unsigned start_that_fits(const struct measured *all, unsigned first, double width_px)
{
	unsigned from = all->count;

	while (from > first && all->px[from] - all->px[from - 1] <= width_px) {
		width_px -= all->px[from] - all->px[from - 1];
		from--;
	}
	return from;
}

/* Characters in "+0x"; a cut keeps all three or none. */
#define ADDRESS_MARK 3u

/* Returns the "+0x12]" of a name such as "[libz.so.1+0x12]", or NULL for other names. */
static const char *address_in(const char *name)
{
	const char *at = *name == '[' ? strstr(name, "+0x") : NULL;
	size_t digits = at ? strspn(at + 3, "0123456789abcdef") : 0;

	return digits && !strcmp(at + 3 + digits, "]") ? at : NULL;
}

/* Does a name of its own begin at @at? Lambdas and operator() do not have one. */
static bool begins_name(const char *at)
{
	return ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
		       (*at >= '0' && *at <= '9') || *at == '_' || *at == '~' || *at == '$' ||
		       (unsigned char)*at >= 0x80) &&
	       !begins(at, "operator()");
}

/* Returns the part of a short name after namespaces, classes and packages. */
static const char *own_name(const char *name)
{
	const char *own = name;
	unsigned depth = 0;

	for (const char *at = name; *at && (depth || *at != ' '); at++) {
		const char *behind = begins(at, "::") ? at + 2 : *at == '/' ? at + 1 : NULL;

		depth += strchr("([{<", *at) != NULL;
		depth -= depth && strchr(")]}>", *at);
		if (!depth && behind && begins_name(behind))
			own = behind;
	}
	return own;
}

/* Returns the index of the character at byte @at. */
static unsigned character_at(const struct measured *all, const char *at)
{
	unsigned i = 0;

	while (i < all->count && all->text + all->ends[i] < at)
		i++;
	return i;
}

/* Returns how many leading characters the text has in common with the more similar @beside. */
static unsigned shared_with(const struct measured *all, const char *const beside[2])
{
	char clean[LABEL_BYTES], shorter[LABEL_SHORT_BYTES(LABEL_BYTES)];
	unsigned most = 0;

	for (unsigned side = 0; side < 2; side++) {
		size_t same = 0;
		unsigned i = 0;

		if (!beside || !beside[side])
			continue;
		label_clean(clean, sizeof(clean), beside[side]);
		label_short(shorter, clean);
		if (!strcmp(shorter, all->text))
			continue;
		while (all->text[same] && all->text[same] == shorter[same])
			same++;
		while (i < all->count && all->ends[i + 1] <= same)
			i++;
		most = i > most ? i : most;
	}
	return most;
}

/*
 * Cut a name whose end matters most. Keep the longest end that fits, but nothing before @own. If
 * all from @own on fits, also keep the beginning of the name.
 */
static struct cut keep_tail(const struct measured *all, unsigned own, double room_px)
{
	unsigned tail = start_that_fits(all, own, room_px);

	if (tail > own && tail < own + ADDRESS_MARK)
		tail = own + ADDRESS_MARK;
	unsigned head = end_that_fits(all, 0, room_px - (all->px[all->count] - all->px[tail]));

	return (struct cut){0, tail > own || head < FEWEST_BEFORE ? 0 : head, tail, all->count};
}

/* Cut the part of a name from @own on. Keep its two ends, or where it differs from @beside. */
static struct cut keep_ends(
	const struct measured *all, unsigned own, double room_px, const char *const beside[2])
{
	double end_px = all->px[all->count];
	struct cut cut = {own, 0, start_that_fits(all, own, room_px / 2), all->count};

	cut.head_end = end_that_fits(all, own, room_px - (end_px - all->px[cut.tail]));
	if (cut.head_end - own + cut.tail_end - cut.tail < FEWEST_OF_BOTH_ENDS) {
		cut.head_end = end_that_fits(all, own, room_px);
		cut.tail = all->count;
	}
	unsigned differs = shared_with(all, beside);

	if (differs < cut.head_end || differs >= cut.tail)
		return cut;
	unsigned end = end_that_fits(all, differs, room_px);

	if (end == all->count) {
		cut.head_end = end_that_fits(all, own, room_px - (end_px - all->px[differs]));
		cut.tail = differs;
		return cut;
	}
	end = end_that_fits(all, differs, room_px - all->ellipsis_px);
	return end - differs < FEWEST_CHARACTERS ? cut : (struct cut){own, own, differs, end};
}

/*
 * Write the parts of the text that @cut keeps, with ellipses for the parts left out. Returns the
 * length in bytes, or 0 if the parts are too short or too long.
 */
static size_t put_cut(char *out, const struct measured *all, struct cut cut)
{
	size_t used = all->ends[cut.head_end] - all->ends[cut.head];
	size_t more = all->ends[cut.tail_end] - all->ends[cut.tail];

	if (cut.head_end - cut.head + cut.tail_end - cut.tail < FEWEST_CHARACTERS ||
		used + more + 2 * ELLIPSIS_BYTES >= LABEL_BYTES)
		return 0;
	memcpy(out, all->text + all->ends[cut.head], used);
	memcpy(out + used, ELLIPSIS, ELLIPSIS_BYTES);
	used += ELLIPSIS_BYTES;
	memcpy(out + used, all->text + all->ends[cut.tail], more);
	used += more;
	if (cut.tail_end < all->count) {
		memcpy(out + used, ELLIPSIS, ELLIPSIS_BYTES);
		used += ELLIPSIS_BYTES;
	}
	out[used] = '\0';
	return used;
}

size_t label_fit(char *fitted, const char *name, const char *const beside[2], double width_px,
	const struct label_measure *measure, enum label_names names)
{
	char clean[LABEL_BYTES], shorter[LABEL_SHORT_BYTES(LABEL_BYTES)];
	struct measured all;
	size_t bytes = label_clean(fitted, LABEL_BYTES, name);

	if (!bytes || (names != LABEL_SHORT && label_width_px(fitted, measure) <= width_px))
		return bytes;
	if (names != LABEL_TEXT) {
		label_short(shorter, fitted);
		bytes = strlen(shorter);
		if (bytes < LABEL_BYTES)
			memcpy(fitted, shorter, bytes + 1);
		else
			bytes = strlen(fitted);
	}
	memcpy(clean, fitted, bytes + 1);
	measure_text(&all, clean, measure);
	if (all.px[all.count] <= width_px)
		return bytes;
	double room_px = width_px - all.ellipsis_px;
	const char *address = address_in(clean);
	unsigned own = character_at(&all, address ? address : own_name(clean));

	if (names == LABEL_TEXT)
		return put_cut(fitted, &all,
			(struct cut){0, end_that_fits(&all, 0, room_px), all.count, all.count});
	if (address && start_that_fits(&all, 0, room_px) + FEWEST_OF_ADDRESS > all.count)
		return 0;
	if (address || (own && all.px[all.count] - all.px[own] <= room_px))
		return put_cut(fitted, &all, keep_tail(&all, own, room_px));
	return put_cut(fitted, &all, keep_ends(&all, own, room_px, beside));
}
