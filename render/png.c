/* SPDX-License-Identifier: MIT */
/*
 * The picture as PNG, at two device pixels per CSS pixel where that fits: the text stays readable
 * on the screens of today.
 */
#include <cairo.h>

#include "render/draw.h"
#include "render/picture.h"
#include "render/scene.h"
#include "render/sink.h"

/* cairo's image surfaces end here, a side. */
#define SIDE_MAX_PX 32767

int picture_write_png(const struct calltree *tree, const struct picture_options *options, FILE *out)
{
	struct preorder preorder = {0};
	struct style style;
	struct scene scene = {0};
	struct sink sink = {out, 0};
	cairo_surface_t *surface = NULL;
	int error = style_init(&style, options, tree);

	if (error)
		return error;
	error = preorder_init(&preorder, tree);
	if (!error)
		error = scene_init(&scene, tree, &preorder, &style, NULL);
	if (error)
		goto out;
	double side_px = scene.width_px > scene.height_px ? scene.width_px : scene.height_px;
	int scale = 2 * side_px <= SIDE_MAX_PX ? 2 : 1;

	surface = cairo_image_surface_create(
		CAIRO_FORMAT_RGB24, (int)(scene.width_px * scale), (int)(scene.height_px * scale));
	error = draw_scene(&scene, surface, scale, DRAW_TEXT);
	if (!error)
		error = font_cairo_error(
			cairo_surface_write_to_png_stream(surface, sink_write, &sink));
	if (sink.error)
		error = sink.error;
out:
	if (surface)
		cairo_surface_destroy(surface);
	scene_release(&scene);
	preorder_release(&preorder);
	style_release(&style);
	return error;
}
