/* SPDX-License-Identifier: MIT */
/*
 * The picture as PNG, at two device pixels per CSS pixel where that fits: the text stays readable
 * on the screens of today.
 */
#include "render/drawing.h"

/* cairo's image surfaces end here, a side. */
#define SIDE_MAX_PX 32767

static cairo_surface_t *surface_new(const struct drawing *drawing, struct sink *sink, double *scale)
{
	double width_px = drawing->scene.width_px, height_px = drawing->scene.height_px;
	double side_px = width_px > height_px ? width_px : height_px;

	(void)sink;
	*scale = 2 * side_px <= SIDE_MAX_PX ? 2 : 1;
	return cairo_image_surface_create(
		CAIRO_FORMAT_RGB24, (int)(width_px * *scale), (int)(height_px * *scale));
}

static cairo_status_t surface_write(cairo_surface_t *surface, struct sink *sink)
{
	return cairo_surface_write_to_png_stream(surface, sink_write, sink);
}

int picture_write_png(const struct calltree *tree, const struct picture_options *options, FILE *out)
{
	return drawing_write(
		tree, options, &(struct drawing_format){surface_new, surface_write}, out);
}
