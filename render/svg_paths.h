/* SPDX-License-Identifier: MIT */
/*
 * Shorten the numbers in cairo's SVG output. Coordinates are most of a picture's bytes, and cairo
 * writes them as absolute numbers with up to eight digits. Without this, pictures of programs would
 * be 21 to 47 % larger (git log 202 instead of 167 KB), or 12 to 32 % if a server compresses them.
 *
 * Parsing cairo's output takes less code than replacing cairo's SVG surface: cairo knows the
 * outlines of glyphs and draws the same scene as PNG and PDF. Text that the parser does not
 * recognise is copied unchanged, so another version of cairo only costs bytes.
 */
#ifndef RENDER_SVG_PATHS_H
#define RENDER_SVG_PATHS_H

#include "render/bytes.h"

/*
 * Append the SVG text from @text to @end (borrowed) to @bytes, with these changes:
 * - Path data becomes relative; x and y attributes stay absolute. Both are rounded to 0.01 pixel;
 * errors do not add up along a path.
 * - Names that begin with "glyph" and references to them begin with @name instead, so that two
 * pictures in one page do not share glyphs.
 * - Indentation, the style "stroke:none" of glyph outlines, and symbol elements around a single
 * path are removed.
 */
void svg_paths_put(struct bytes *bytes, const char *text, const char *end, const char *name);

#endif
