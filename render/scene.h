/* SPDX-License-Identifier: MIT */
/*
 * Everything the static picture shows, placed in CSS pixels and independent of the format: boxes
 * and texts. What draws it decides nothing but how.
 */
#ifndef RENDER_SCENE_H
#define RENDER_SCENE_H

#include <stdbool.h>
#include <stddef.h>

#include "render/calltree.h"
#include "render/layout.h"
#include "render/style.h"

struct scene_box {
	double x, y, width, height;
	unsigned place; /* in the palette */
	/*
	 * Inlined, and not too narrow to show it: the edge to what it stands in is dashed, which
	 * grey paper shows as well.
	 */
	bool is_inlined;
};

struct scene_text {
	double x, y; /* of the baseline's start */
	enum font_role role;
	char *text; /* clean UTF-8, never empty; owned by the scene */
};

struct scene {
	const struct style *style; /* borrowed as long as the scene */
	double width_px, height_px;
	struct scene_box *boxes;
	uint32_t box_count;
	struct scene_text *texts;
	uint32_t text_count;
	size_t glyphs;	   /* characters in all texts */
	size_t text_bytes; /* of all texts as native text of an SVG, about */
	struct font fonts[FONT_ROLES];
};

/*
 * Place @tree, ordered by @preorder, into the caller's @scene; everything but @style is borrowed
 * for the call. @note: small line at the bottom, may be NULL. Returns 0, or -ENOMEM or -EIO with
 * *scene released.
 */
int scene_init(struct scene *scene, const struct calltree *tree, const struct preorder *preorder,
	const struct style *style, const char *note);
void scene_release(struct scene *scene);

#endif
