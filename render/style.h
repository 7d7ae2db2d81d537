/* SPDX-License-Identifier: MIT */
/*
 * The options of a picture with defaults filled in, bounds applied and colours chosen. All code
 * that draws, measures or writes data reads this struct instead of the options.
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

/* The purpose of a text. It selects the font, in cairo's output and in SVG <text> elements. */
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

/* Font families of SVG text. cairo measures with the first one; text in the others is not wider. */
#define FONT_CSS_FAMILY "'DejaVu Sans',Verdana,'Segoe UI',system-ui,sans-serif"

struct font {
	struct label_measure measure;
	cairo_scaled_font_t *scaled; /* owned */
	double ascii_px[128];
};

/*
 * Load @family (clean UTF-8) with @style into the caller's @font; both are borrowed for the call.
 * cairo has a fallback, so no font needs to be installed. Returns 0, or -ENOMEM or -EIO with *font
 * released.
 */
int font_init(struct font *font, const char *family, const struct font_style *style);

void font_release(struct font *font);

/* Returns the negative errno for a cairo status, 0 for success. */
int font_cairo_error(cairo_status_t status);

struct style {
	/* borrowed; read only the options that no other member of this struct holds */
	const struct picture_options *options;
	const char *title, *subtitle, *notes, *empty, *count_name; /* never NULL; borrowed */
	double width_px;
	/* height of one row including the gap between boxes, in whole pixels */
	double row_px;
	double narrowest_px; /* narrower boxes are merged */
	/* factor of all texts and distances except the boxes; 1 by default */
	double scale;
	struct font_style fonts[FONT_ROLES];
	char family[STYLE_FAMILY_BYTES]; /* for cairo */
	/* for SVG text; contains no quote except ' and no markup */
	char css_family[STYLE_FAMILY_BYTES + 96];
	uint32_t ground; /* background, 0xrrggbb */
	struct palette palette;
};

/*
 * Fill @style from @options (borrowed as long as @style) for a picture of @tree (borrowed for the
 * call). Returns 0, or -EINVAL if the palette does not exist, or -ENOMEM, with nothing to release.
 */
int style_init(
	struct style *style, const struct picture_options *options, const struct calltree *tree);
void style_release(struct style *style);

#endif
