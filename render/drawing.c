/* SPDX-License-Identifier: MIT */
/* What comes before and after drawing, for all formats. */
#include "render/drawing.h"

#include "render/draw.h"

int drawing_init(struct drawing *drawing, const struct calltree *tree,
	const struct picture_options *options, const char *note)
{
	*drawing = (struct drawing){0};
	int error = style_init(&drawing->style, options, tree);

	if (error)
		return error;
	error = preorder_init(&drawing->preorder, tree);
	if (!error)
		error = scene_init(
			&drawing->scene, tree, &drawing->preorder, &drawing->style, note);
	if (error)
		drawing_release(drawing);
	return error;
}

void drawing_release(struct drawing *drawing)
{
	scene_release(&drawing->scene);
	preorder_release(&drawing->preorder);
	style_release(&drawing->style);
}

int drawing_write(const struct calltree *tree, const struct picture_options *options,
	const struct drawing_format *format, FILE *out)
{
	struct drawing drawing;
	struct sink sink = {out, 0};
	double scale;
	int error = drawing_init(&drawing, tree, options, NULL);

	if (error)
		return error;
	cairo_surface_t *surface = format->surface_new(&drawing, &sink, &scale);

	error = draw_scene(&drawing.scene, surface, scale, DRAW_TEXT);
	if (!error)
		error = font_cairo_error(format->surface_write(surface, &sink));
	cairo_surface_destroy(surface);
	/* What the stream said, rather than that it said something. */
	if (sink.error)
		error = sink.error;
	drawing_release(&drawing);
	return error;
}
