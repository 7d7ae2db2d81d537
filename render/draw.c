/* SPDX-License-Identifier: MIT */
/*
 * The only code that draws. All boxes of one colour are one path: a tenth of the elements. A box is
 * a line, not a rectangle: two numbers instead of four, and the same pixels.
 */
#include "render/draw.h"

#include <stdlib.h>

#include "render/palette.h"

static void set_ink(cairo_t *cairo, uint32_t ink)
{
	cairo_set_source_rgb(
		cairo, (ink >> 16) / 255.0, (ink >> 8 & 255) / 255.0, (ink & 255) / 255.0);
}

/* Boxes of one colour and height as one path of lines as thick as the boxes are high. */
static void stroke_boxes(const struct scene *scene, cairo_t *cairo)
{
	const struct palette *palette = &scene->style->palette;
	int dark = scene->style->options->ground == PICTURE_DARK;

	cairo_set_line_cap(cairo, CAIRO_LINE_CAP_BUTT);
	for (unsigned place = 0; place < palette_size(palette); place++) {
		struct palette_color color = palette_at(palette, place, dark);
		double height = 0;

		cairo_set_source_rgb(
			cairo, color.red / 255.0, color.green / 255.0, color.blue / 255.0);
		for (uint32_t i = 0; i < scene->box_count; i++) {
			const struct scene_box *box = &scene->boxes[i];
			double middle = box->y + box->height / 2;

			if (box->place != place)
				continue;
			if (box->height != height)
				cairo_stroke(cairo);
			height = box->height;
			cairo_set_line_width(cairo, height);
			cairo_move_to(cairo, box->x, middle);
			cairo_line_to(cairo, box->x + box->width, middle);
		}
		cairo_stroke(cairo);
	}
}

static void show_texts(const struct scene *scene, cairo_t *cairo)
{
	for (unsigned role = 0; role < FONT_ROLES; role++) {
		const struct font_style *style = &scene->style->fonts[role];

		set_ink(cairo, style->ink);
		/* Face, size and options one by one: a scaled font carries its surface's scale. */
		cairo_font_options_t *options = cairo_font_options_create();

		cairo_scaled_font_get_font_options(scene->fonts[role].scaled, options);
		cairo_set_font_face(
			cairo, cairo_scaled_font_get_font_face(scene->fonts[role].scaled));
		cairo_set_font_size(cairo, style->size_px);
		cairo_set_font_options(cairo, options);
		cairo_font_options_destroy(options);
		for (uint32_t i = 0; i < scene->text_count; i++) {
			if (scene->texts[i].role != role)
				continue;
			cairo_move_to(cairo, scene->texts[i].x, scene->texts[i].y);
			cairo_show_text(cairo, scene->texts[i].text);
		}
	}
}

int draw_scene(
	const struct scene *scene, cairo_surface_t *surface, double scale, enum draw_text text)
{
	cairo_t *cairo = cairo_create(surface);

	cairo_scale(cairo, scale, scale);
	set_ink(cairo, scene->style->ground);
	cairo_paint(cairo);
	stroke_boxes(scene, cairo);
	if (text == DRAW_TEXT)
		show_texts(scene, cairo);
	int error = font_cairo_error(cairo_status(cairo));

	cairo_destroy(cairo);
	return error;
}
