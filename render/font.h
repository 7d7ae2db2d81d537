/* SPDX-License-Identifier: MIT */
/*
 * The typefaces of the picture: one table of what each text is for, used by cairo's text and by
 * native SVG text alike.
 */
#ifndef RENDER_FONT_H
#define RENDER_FONT_H

#include <cairo.h>
#include <stdint.h>

#include "render/label.h"

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

#endif
