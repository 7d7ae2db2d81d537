/* SPDX-License-Identifier: MIT */
/*
 * Text that may be shown: any bytes made into clean UTF-8, names made short enough for a box, and
 * large numbers as people read them.
 */
#ifndef RENDER_LABEL_H
#define RENDER_LABEL_H

#include <stddef.h>
#include <stdint.h>

/* Text kept of a name; longer ones end in an ellipsis. No box is wide enough for more. */
#define LABEL_BYTES 1024u

/* How wide a code point is drawn. */
struct label_measure {
	double (*advance_px)(const struct label_measure *measure, uint32_t code_point);
};

/*
 * Copy @text (any bytes but NUL) into @clean, at most @room bytes with the NUL: UTF-8 that XML
 * allows; what was not, and controls, among them those that reorder text, become U+FFFD; ends in
 * an ellipsis when cut. @room is at least 8. Returns the length.
 */
size_t label_clean(char *clean, size_t room, const char *text);

/* Decode one code point of clean text and step over it. Returns 0 at the end. */
uint32_t label_next(const char **text);

/* Width of clean @text. */
double label_width_px(const char *text, const struct label_measure *measure);

/* Room for what label_short() makes of a name of @bytes: "<>" becomes "<…>". */
#define LABEL_SHORT_BYTES(bytes) (3 * (bytes) + 1)

/*
 * What is left of a function's name for those who know the program: "a<b, c<d>>::e(f) const" is
 * "a<…>::e". Operators, lambdas, (anonymous namespace) and other names in brackets stay whole; so
 * does what is no function, or has brackets that do not match.
 * @out has LABEL_SHORT_BYTES(strlen(@name)).
 */
void label_short(char *out, const char *name);

enum label_names {
	LABEL_SHORT, /* always as label_short() has it */
	LABEL_WHOLE, /* when there is no room for the whole */
	LABEL_TEXT,  /* words and no name */
};

/*
 * Fit @name (any bytes) into @width_px: whole or short, else cut with an ellipsis where it tells
 * least. Of "a::b::name" the name stays, of "[libz.so.1+0x12]" the end, of other names both ends;
 * but where the names that stand @beside it (left, right; either, or the array, may be NULL) begin
 * alike, the part that differs. Text is cut at its end. share/viewer/label.js has the same rules,
 * tests/fitted.tsv the cases of both.
 * @fitted has LABEL_BYTES. Returns its length, 0 when nothing useful fits.
 */
size_t label_fit(char *fitted, const char *name, const char *const beside[2], double width_px,
	const struct label_measure *measure, enum label_names names);

/* 1234567 as "1,234,567" into @text, cut to @bytes with its zero. */
void count_text(char *text, size_t bytes, uint64_t count);

#endif
