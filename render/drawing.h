/* SPDX-License-Identifier: MIT */
/* Draw a scene on a cairo surface, for all formats. */
#ifndef RENDER_DRAWING_H
#define RENDER_DRAWING_H

#include <cairo.h>

#include "render/calltree.h"
#include "render/picture.h"
#include "render/scene.h"
#include "render/style.h"

enum draw_text {
	DRAW_TEXT,
	DRAW_NO_TEXT
};

/*
 * Draw @scene on @surface, @scale device pixels per CSS pixel. Both are borrowed; the surface is
 * not finished. Only strokes and lines of text are drawn, no clips, masks or groups, so that simple
 * SVG and PDF viewers show the same picture. Returns 0, -ENOMEM or -EIO.
 */
int draw_scene(
	const struct scene *scene, cairo_surface_t *surface, double scale, enum draw_text text);

struct drawing {
	struct style style;
	struct preorder preorder;
	struct scene scene;
};

/*
 * Prepare @tree (finished) for drawing with @options. Both are borrowed until drawing_release();
 * @note is passed to scene_init(). Returns 0, or the error of style_init(), preorder_init() or
 * scene_init() with nothing to release.
 */
int drawing_init(struct drawing *drawing, const struct calltree *tree,
	const struct picture_options *options, const char *note);
void drawing_release(struct drawing *drawing);

#endif
