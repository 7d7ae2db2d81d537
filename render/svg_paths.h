/* SPDX-License-Identifier: MIT */
/*
 * cairo's numbers said shorter: most of the bytes of a picture are where boxes and letters are.
 */
#ifndef RENDER_SVG_PATHS_H
#define RENDER_SVG_PATHS_H

#include "render/bytes.h"

/*
 * Append the SVG text from @text to @end (borrowed) to @bytes. Path data of moves, lines, curves
 * and ends becomes relative, other places (x, y) stay absolute; both are rounded to a hundredth of
 * a pixel, which does not add up along a path. Everything else stays as it is.
 */
void svg_paths_put(struct bytes *bytes, const char *text, const char *end);

#endif
