/* SPDX-License-Identifier: MIT */
/*
 * A scene on a cairo surface, the same for every format; and the way from a tree to a stream that
 * all formats of one cairo surface go.
 */
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
 * Draw @scene (borrowed) on @surface (borrowed, not finished by this), @scale device pixels per CSS
 * pixel. Only strokes, lines of text and nothing that clips or groups: viewers without masks show
 * the same. Returns 0, or -ENOMEM or -EIO.
 */
int draw_scene(
	const struct scene *scene, cairo_surface_t *surface, double scale, enum draw_text text);

struct drawing {
	struct style style;
	struct preorder preorder;
	struct scene scene;
};

/*
 * Make @tree (finished) ready as @options say; both are borrowed as long as @drawing. @note: as in
 * scene_init(). Returns 0, or what style_init(), preorder_init() and scene_init() return, with
 * nothing to release.
 */
int drawing_init(struct drawing *drawing, const struct calltree *tree,
	const struct picture_options *options, const char *note);
void drawing_release(struct drawing *drawing);

#endif
