/* SPDX-License-Identifier: MIT */
/*
 * A scene on a cairo surface; the same for every format.
 */
#ifndef RENDER_DRAW_H
#define RENDER_DRAW_H

#include <cairo.h>

#include "render/scene.h"

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

#endif
