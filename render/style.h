/* SPDX-License-Identifier: MIT */
/*
 * What the options of a picture come to: defaults filled in, bounds applied, colours looked up.
 * Everything that draws, writes data or measures asks here and not the options.
 */
#ifndef RENDER_STYLE_H
#define RENDER_STYLE_H

#include <stdint.h>

#include "render/calltree.h"
#include "render/font.h"
#include "render/palette.h"
#include "render/picture.h"

#define STYLE_FAMILY_BYTES 64u

struct style {
	const struct picture_options
		*options; /* borrowed: for what has neither default nor bound */
	const char *title, *subtitle, *notes, *empty, *count_name; /* never NULL; borrowed */
	double width_px;
	double row_px;	     /* one level, the gap between boxes included; whole pixels */
	double narrowest_px; /* of a box drawn by itself */
	double scale;	     /* of all texts and what is between them, 1 by default */
	struct font_style fonts[FONT_ROLES];
	char family[STYLE_FAMILY_BYTES]; /* for cairo */
	char css_family[STYLE_FAMILY_BYTES +
			96]; /* for native text; no quote but ' and no markup */
	uint32_t ground;     /* 0xrrggbb behind everything */
	struct palette palette;
};

/*
 * @options (borrowed as long as @style) for a picture of @tree (borrowed for the call). Returns 0,
 * or -EINVAL for a palette that does not exist, or -ENOMEM, with nothing to release.
 */
int style_init(
	struct style *style, const struct picture_options *options, const struct calltree *tree);
void style_release(struct style *style);

#endif
