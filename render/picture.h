/* SPDX-License-Identifier: MIT */
/*
 * From a call tree to a picture. The same layout, colours and drawing code for every format.
 */
#ifndef RENDER_PICTURE_H
#define RENDER_PICTURE_H

#include <stdint.h>
#include <stdio.h>

#include "render/calltree.h"

struct picture_options {
	const char *title;    /* NULL: "Flame graph" */
	const char *subtitle; /* NULL or "": none */
	const char
		*empty; /* text shown instead of boxes when the tree has no weight; NULL: default */
	uint32_t width; /* CSS pixels of the static picture; 0: 1200 */
	uint64_t period_ns;   /* CPU time one unit of weight stands for; 0: unknown (weights are
				 counts) */
	uint64_t duration_ns; /* of the run; 0: unknown */
};

/*
 * Write @tree (finished) as SVG / PNG to @out. @out is borrowed and not closed or flushed.
 * Equal trees and options give equal bytes.
 * Returns 0, or -errno (-EIO for what cairo calls a write error, -ENOMEM, or @out's errno).
 */
int picture_write_svg(
	const struct calltree *tree, const struct picture_options *options, FILE *out);
int picture_write_png(
	const struct calltree *tree, const struct picture_options *options, FILE *out);

#endif
