/* SPDX-License-Identifier: MIT */
/*
 * Text for display: clean any bytes to valid UTF-8, shorten names to the width of a box, and print
 * large numbers with separators.
 */
#ifndef RENDER_LABEL_H
#define RENDER_LABEL_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of a label with its NUL. Longer names are cut; no box has room for more. */
#define LABEL_BYTES 1024u

/* Measures a font: advance_px() returns the advance of one code point in pixels. */
struct label_measure {
	double (*advance_px)(const struct label_measure *measure, uint32_t code_point);
};

/*
 * Copy @text (any bytes but NUL) to @clean as UTF-8 that XML allows. Invalid sequences, control
 * characters and characters that reorder text become U+FFFD. Text that needs more than @room bytes
 * (at least 8, with the NUL) is cut and ends in an ellipsis. Returns the length in bytes.
 */
size_t label_clean(char *clean, size_t room, const char *text);

/* Decode a code point of clean text and advance *@text. Returns 0 at the end of the text. */
uint32_t label_next(const char **text);

/* Returns the width of clean @text in pixels. */
double label_width_px(const char *text, const struct label_measure *measure);

/* Bytes that label_short() needs for a name of @bytes: "<>" may become "<…>", which is longer. */
#define LABEL_SHORT_BYTES(bytes) (3 * (bytes) + 1)

/*
 * Shorten a function's name: drop template arguments, parameters and qualifiers, so that "a<b,
 * c<d>>::e(f) const" becomes "a<…>::e". The names of operators, lambdas and "(anonymous namespace)"
 * stay whole. Names that are not functions, and names with unbalanced brackets, are copied
 * unchanged.
 * @out has LABEL_SHORT_BYTES(strlen(@name)) bytes.
 */
void label_short(char *out, const char *name);

enum label_names {
	LABEL_SHORT, /* always shorten by label_short() */
	/* shorten by label_short() only if the whole name does not fit */
	LABEL_WHOLE,
	LABEL_TEXT, /* plain text, not a name */
};

/*
 * Shorten @name (any bytes) to @width_px. If the short form does not fit, cut it and add an
 * ellipsis: "a::b::name" keeps "name", "[libz.so.1+0x12]" its end, other names both ends, and plain
 * text (LABEL_TEXT) its beginning. If a label in @beside (left and right neighbour; the array and
 * its elements may be NULL) begins with the same characters, keep the part that differs.
 * share/viewer/label.js follows the same rules; tests/fitted.tsv has test cases for both. @fitted
 * has LABEL_BYTES. Returns the label's length in bytes, 0 if no useful part of the name fits.
 */
size_t label_fit(char *fitted, const char *name, const char *const beside[2], double width_px,
	const struct label_measure *measure, enum label_names names);

/* Print 1234567 as "1,234,567" into @text, cut to @bytes with the NUL. */
void count_text(char *text, size_t bytes, uint64_t count);

#endif
