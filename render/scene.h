/* SPDX-License-Identifier: MIT */
/* The static picture's content for all formats: boxes and texts with positions in CSS pixels. */
#ifndef RENDER_SCENE_H
#define RENDER_SCENE_H

#include <stdbool.h>
#include <stddef.h>

#include "render/calltree.h"
#include "render/layout.h"
#include "render/style.h"

struct scene_box {
	double x, y, width, height;
	unsigned color_index; /* index in the palette's table */
	/* set if the box is an inlined function and wide enough for a dashed edge to its parent */
	bool is_inlined;
};

struct scene_text {
	double x, y; /* start of the baseline */
	enum font_role role;
	/* clean UTF-8, never empty; owned by the scene */
	char *text;
};

struct scene {
	const struct style *style; /* borrowed as long as the scene */
	double width_px, height_px;
	struct scene_box *boxes;
	uint32_t box_count;
	struct scene_text *texts;
	uint32_t text_count;
	size_t glyphs; /* number of characters in all texts */
	/* approximate bytes of all texts as SVG <text> elements */
	size_t text_bytes;
	struct font fonts[FONT_ROLES];
};

/*
 * Compose the picture of @tree into the caller's @scene. @style is borrowed until scene_release(),
 * the other arguments for the call. @note is a small line at the bottom; NULL for none. Returns 0,
 * or -ENOMEM or -EIO with *scene released.
 */
int scene_init(struct scene *scene, const struct calltree *tree, const struct preorder *preorder,
	const struct style *style, const char *note);
void scene_release(struct scene *scene);

#endif
