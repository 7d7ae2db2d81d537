/* SPDX-License-Identifier: MIT */
/*
 * The parts of a scene: texts, and the boxes of the graph. For render/scene.c.
 */
#ifndef RENDER_SCENE_GRAPH_H
#define RENDER_SCENE_GRAPH_H

#include "render/layout.h"
#include "render/scene.h"

/* Add clean @text with its baseline at (@x, @y); there is room. Returns 0 or -ENOMEM. */
int scene_add_text(struct scene *scene, double x, double y, enum font_role role, const char *text);

/*
 * Add the boxes of @layout and their labels between @top_px and what scene_graph_px() says below
 * it, @left_px from the left; there is room. Returns 0 or -ENOMEM.
 */
int scene_add_graph(struct scene *scene, const struct calltree *tree, const struct layout *layout,
	double left_px, double top_px);

double scene_graph_px(const struct scene *scene, const struct layout *layout);

#endif
