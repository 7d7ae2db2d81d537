/* SPDX-License-Identifier: MIT */
/*
 * Clean cairo's SVG output. cairo up to 1.16 writes colours and line widths as style="…", which a
 * page's content security policy may forbid (Jenkins' does, for artifacts): the picture would be a
 * black rectangle. cairo also writes coordinates with up to eight digits, which are most of a
 * picture's bytes.
 *
 * Text that is not recognised is copied unchanged, so another version of cairo only costs bytes.
 */
#ifndef RENDER_SVG_CLEAN_H
#define RENDER_SVG_CLEAN_H

#include "render/bytes.h"

/*
 * Append the SVG text from @text to @end (borrowed) to @bytes, with these changes:
 * - Each declaration of a style attribute becomes an attribute.
 * - Coordinates are rounded to 0.01 pixel. Path data becomes relative, which takes half of the
 *   bytes. Points are rounded before they are subtracted, so errors do not add up.
 * - Names that begin with "glyph" and references to them begin with @name instead, so that two
 *   pictures in one page do not share glyphs.
 * - Indentation is removed.
 */
void svg_clean_put(struct bytes *bytes, const char *text, const char *end, const char *name);

#endif
