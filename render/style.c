/* SPDX-License-Identifier: MIT */
/*
 * Compute sizes, colours and fonts of a picture.
 *
 * Fonts use cairo's toy interface: symbol names are nearly always ASCII, and pango would add twenty
 * libraries. Widths are measured without hinting, so that a label that fits here fits at any zoom.
 */
#include "render/style.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "render/label.h"

/* ---- fonts ----------------------------------------------------------------------------------- */

int font_cairo_error(cairo_status_t status)
{
	if (status == CAIRO_STATUS_SUCCESS)
		return 0;
	return status == CAIRO_STATUS_NO_MEMORY ? -ENOMEM : -EIO;
}

static void encode_utf8(char *text, uint32_t point)
{
	if (point < 0x80) {
		*text++ = (char)point;
	} else if (point < 0x800) {
		*text++ = (char)(0xc0 | point >> 6);
		*text++ = (char)(0x80 | (point & 0x3f));
	} else {
		if (point >= 0x10000) {
			*text++ = (char)(0xf0 | point >> 18);
			*text++ = (char)(0x80 | (point >> 12 & 0x3f));
		} else {
			*text++ = (char)(0xe0 | point >> 12);
		}
		*text++ = (char)(0x80 | (point >> 6 & 0x3f));
		*text++ = (char)(0x80 | (point & 0x3f));
	}
	*text = '\0';
}

static double measure_px(cairo_scaled_font_t *scaled, uint32_t point)
{
	cairo_text_extents_t extents;
	char text[8];

	encode_utf8(text, point);
	cairo_scaled_font_text_extents(scaled, text, &extents);
	return extents.x_advance;
}

static double advance_px(const struct label_measure *measure, uint32_t point)
{
	const struct font *font = (const struct font *)measure;

	return point < 128 ? font->ascii_px[point] : measure_px(font->scaled, point);
}

int font_init(struct font *font, const char *family, const struct font_style *style)
{
	cairo_font_face_t *face = cairo_toy_font_face_create(family, CAIRO_FONT_SLANT_NORMAL,
		style->bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
	cairo_font_options_t *options = cairo_font_options_create();
	cairo_matrix_t size, identity;

	cairo_matrix_init_scale(&size, style->size_px, style->size_px);
	cairo_matrix_init_identity(&identity);
	cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
	cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
	cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
	*font = (struct font){.measure = {advance_px}};
	font->scaled = cairo_scaled_font_create(face, &size, &identity, options);
	cairo_font_options_destroy(options);
	cairo_font_face_destroy(face);
	for (uint32_t point = 0x20; point < 0x7f; point++)
		font->ascii_px[point] = measure_px(font->scaled, point);
	int error = font_cairo_error(cairo_scaled_font_status(font->scaled));

	if (error)
		font_release(font);
	return error;
}

void font_release(struct font *font)
{
	if (font->scaled)
		cairo_scaled_font_destroy(font->scaled);
	font->scaled = NULL;
}

/* ---- a picture's style ----------------------------------------------------------------------- */

#define FAMILY_DEFAULT "DejaVu Sans"
#define LABEL_PX       11.0
#define ROW_PX	       18.0
#define NARROWEST_PX   0.5
#define WIDTH_PX       1200.0
/* maximum height of a label's text, as a part of its row's height */
#define LABEL_SHARE    0.8

static const struct font_style fonts[FONT_ROLES] = {
	[FONT_TITLE] = {17, 1, 0},
	[FONT_SUBTITLE] = {12, 0, 0},
	[FONT_LABEL] = {LABEL_PX, 0, 0},
	[FONT_NOTE] = {10, 0, 0},
};

/* Backgrounds by enum picture_ground; share/viewer/viewer.css must have the same colours. */
static const uint32_t grounds[] = {0xffffff, 0x14171c};
static const uint32_t inks[][FONT_ROLES] = {
	{
		[FONT_TITLE] = 0x1f2328,
		[FONT_SUBTITLE] = 0x59636e,
		[FONT_LABEL] = 0x1f2328,
		[FONT_NOTE] = 0x6e7781,
	},
	{
		[FONT_TITLE] = 0xe6e9ee,
		[FONT_SUBTITLE] = 0xa0a8b3,
		[FONT_LABEL] = 0xf5f1ea,
		[FONT_NOTE] = 0x8b949e,
	},
};

/* Returns @value, bounded by @from and @to, or @fallback if @value is 0 or NaN. */
static double bounded(double value, double fallback, double from, double to)
{
	if (!(value > 0))
		return fallback;
	return value < from ? from : value > to ? to : value;
}

static int is_generic(const char *family)
{
	static const char *const names[] = {
		"serif", "sans-serif", "monospace", "cursive", "fantasy", "system-ui"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], family))
			return 1;
	return 0;
}

/* Set the font family. @asked is untrusted: drop characters that could end a name in CSS or XML. */
static void set_family(struct style *style, const char *asked)
{
	char clean[STYLE_FAMILY_BYTES];
	size_t length = 0;

	label_clean(clean, sizeof(clean), asked ? asked : "");
	for (const char *at = clean; *at; at++)
		if (!strchr("'\"\\<>&;{}", *at))
			style->family[length++] = *at;
	style->family[length] = '\0';
	if (!style->family[0] || !strcmp(style->family, FAMILY_DEFAULT)) {
		strcpy(style->family, FAMILY_DEFAULT);
		strcpy(style->css_family, FONT_CSS_FAMILY);
	} else {
		const char *quote = is_generic(style->family) ? "" : "'";

		snprintf(style->css_family, sizeof(style->css_family), "%s%s%s," FONT_CSS_FAMILY,
			quote, style->family, quote);
	}
}

static void set_sizes(struct style *style, const struct picture_options *options)
{
	double width_px = bounded(options->width, WIDTH_PX, PICTURE_WIDTH_MIN, PICTURE_WIDTH_MAX);
	double label_px = bounded(options->font_size, 0, PICTURE_FONT_MIN, PICTURE_FONT_MAX);
	double row_px = bounded(options->frame_height, 0, PICTURE_ROW_MIN, PICTURE_ROW_MAX);

	/*
	 * Without a row height, derive it from the font size. Without a font size, derive it from
	 * the row height, at most 11.
	 */
	if (!row_px)
		row_px = label_px ? fmin(label_px * ROW_PX / LABEL_PX, PICTURE_ROW_MAX) : ROW_PX;
	row_px = floor(row_px + 0.5);
	style->scale = label_px ? label_px / LABEL_PX : 1;
	if (!label_px)
		label_px = fmin(LABEL_PX, row_px * LABEL_PX / ROW_PX);
	label_px = fmin(label_px, row_px * LABEL_SHARE);
	style->width_px = width_px;
	style->row_px = row_px;
	style->narrowest_px =
		bounded(options->min_width, NARROWEST_PX, PICTURE_NARROW_MIN, PICTURE_NARROW_MAX);
	for (unsigned role = 0; role < FONT_ROLES; role++) {
		style->fonts[role] = fonts[role];
		style->fonts[role].size_px *= style->scale;
	}
	style->fonts[FONT_LABEL].size_px = label_px;
}

int style_init(
	struct style *style, const struct picture_options *options, const struct calltree *tree)
{
	unsigned ground = options->ground == PICTURE_DARK;

	*style = (struct style){
		.options = options,
		.title = options->title ? options->title : "Flame graph",
		.subtitle = options->subtitle ? options->subtitle : "",
		.notes = options->notes ? options->notes : "",
		.empty = options->empty ? options->empty : "No samples were recorded.",
		.count_name = options->count_name && options->count_name[0] ? options->count_name
									    : "samples",
		.ground = grounds[ground],
	};
	set_family(style, options->font);
	set_sizes(style, options);
	for (unsigned role = 0; role < FONT_ROLES; role++)
		style->fonts[role].ink = inks[ground][role];
	return palette_init_verdicts(&style->palette, options->palette, tree, options->verdicts);
}

void style_release(struct style *style)
{
	palette_release(&style->palette);
}
