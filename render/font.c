/* SPDX-License-Identifier: MIT */
/*
 * Faces through cairo's toy interface: symbols are nearly ASCII, and pango would bring twenty
 * libraries for the rest. Widths are unhinted, so a label that fits here fits at any zoom.
 */
#include "render/font.h"

#include <errno.h>

int font_cairo_error(cairo_status_t status)
{
	if (status == CAIRO_STATUS_SUCCESS)
		return 0;
	return status == CAIRO_STATUS_NO_MEMORY ? -ENOMEM : -EIO;
}

static void encode(char *text, uint32_t point)
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

	encode(text, point);
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
