/* SPDX-License-Identifier: MIT */
/*
 * A scene on a cairo surface, the same for every format; and the way from a tree to a stream that all
 * formats of one cairo surface go.
 */
#ifndef RENDER_DRAWING_H
#define RENDER_DRAWING_H

#include <cairo.h>
#include <stdio.h>

#include "render/calltree.h"
#include "render/picture.h"
#include "render/scene.h"
#include "render/style.h"

enum draw_text {
	DRAW_TEXT,
	DRAW_NO_TEXT
};

/* Where cairo writes: a stream, with the error it met first. */
struct sink {
	FILE *out; /* borrowed */
	int error; /* 0 or -errno of @out */
};

/*
 * Draw @scene (borrowed) on @surface (borrowed, not finished by this), @scale device pixels per CSS
 * pixel. Only strokes, lines of text and nothing that clips or groups: viewers without masks show
 * the same. Returns 0, or -ENOMEM or -EIO.
 */
int draw_scene(
	const struct scene *scene, cairo_surface_t *surface, double scale, enum draw_text text);

/* A cairo_write_func_t; @closure is a struct sink. */
cairo_status_t sink_write(void *closure, const unsigned char *bytes, unsigned int length);

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

struct drawing_format {
	/* Returns an owned surface for @drawing that may write to @sink, and its *@scale in units
	 * of the surface per CSS pixel. */
	cairo_surface_t *(*surface_new)(
		const struct drawing *drawing, struct sink *sink, double *scale);
	/* What was drawn goes to @sink. */
	cairo_status_t (*surface_write)(cairo_surface_t *surface, struct sink *sink);
};

/* Write @tree in one @format; parameters and what it returns as in render/picture.h. */
int drawing_write(const struct calltree *tree, const struct picture_options *options,
	const struct drawing_format *format, FILE *out);

#endif
