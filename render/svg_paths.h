/* SPDX-License-Identifier: MIT */
/*
 * cairo's paths said shorter: half of the bytes of a picture are corners of rectangles.
 */
#ifndef RENDER_SVG_PATHS_H
#define RENDER_SVG_PATHS_H

#include "render/bytes.h"

/*
 * Append the SVG text from @text to @end (borrowed) to @bytes. Rectangles in path data become
 * horizontal and vertical lines with the same numbers, character by character; everything else
 * stays as it is.
 */
void svg_paths_put(struct bytes *bytes, const char *text, const char *end);

#endif
