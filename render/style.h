/* SPDX-License-Identifier: MIT */
/*
 * What the options of a picture come to: defaults filled in, bounds applied, colours looked up.
 * Everything that draws, writes data or measures asks here and not the options.
 */
#ifndef RENDER_STYLE_H
#define RENDER_STYLE_H

#include <cairo.h>
#include <stdint.h>

#include "render/calltree.h"
#include "render/label.h"
#include "render/palette.h"
#include "render/picture.h"

#define STYLE_FAMILY_BYTES 64u

/*
 * The typefaces of the picture: one table of what each text is for, used by cairo's text and by
 * native SVG text alike.
 */
enum font_role {
	FONT_TITLE,
	FONT_SUBTITLE,
	FONT_LABEL,
	FONT_NOTE,
	FONT_ROLES
};

struct font_style {
	double size_px;
	int bold;
	uint32_t ink; /* 0xrrggbb */
};

/* What native text asks for: the first is what cairo measured with, the others are no wider. */
#define FONT_CSS_FAMILY "'DejaVu Sans',Verdana,'Segoe UI',system-ui,sans-serif"

struct font {
	struct label_measure measure;
	cairo_scaled_font_t *scaled; /* owned */
	double ascii_px[128];
};

/*
 * Load @family, clean UTF-8, in @style (both borrowed for the call) into the caller's @font. Works
 * without any font installed. Returns 0, or -ENOMEM or -EIO for what cairo says, with *font
 * released.
 */
int font_init(struct font *font, const char *family, const struct font_style *style);

void font_release(struct font *font);

/* A negative errno for a cairo status; 0 for success. */
int font_cairo_error(cairo_status_t status);

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
