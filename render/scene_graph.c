/* SPDX-License-Identifier: MIT */
/*
 * Rows of boxes with their labels. The root is the lowest row, or the highest in an icicle.
 */
#include "render/scene_graph.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/count_text.h"

#define LABEL_PADDING_EM 0.45
#define LABEL_DROP_EM	 0.364 /* from the middle of a box to the baseline */
#define LABELLED_MIN_EM	 2.2   /* narrower boxes have no label */
#define GAP_FROM_PX	 3.0   /* boxes at least this wide give up a pixel to the gap */

/* Of text in a picture: when it is used up the rows farther from the root have no labels. */
#define TEXT_BYTES_MAX 440000u
#define TEXT_MARKUP    24u /* bytes around a text */
#define ESCAPE_BYTES   4u  /* at most so many more for a character that XML needs for itself */

int scene_add_text(struct scene *scene, double x, double y, enum font_role role, const char *text)
{
	char *kept = strdup(text);

	if (!kept)
		return -ENOMEM;
	scene->texts[scene->text_count++] = (struct scene_text){x, y, role, kept};
	scene->text_bytes += TEXT_MARKUP + strlen(text);
	for (uint32_t point; (point = label_next(&text)); scene->glyphs++)
		if (point < 128 && strchr("&<>\"'", (int)point))
			scene->text_bytes += ESCAPE_BYTES;
	return 0;
}

double scene_graph_px(const struct scene *scene, const struct layout *layout)
{
	return layout->rows * scene->style->row_px;
}

static void name_root(
	char *name, size_t bytes, const struct calltree *tree, const struct style *style)
{
	double seconds = (double)calltree_total(tree) * (double)style->options->period_ns / 1e9;
	char count[32], time[32] = "";

	count_text(count, sizeof(count), calltree_total(tree));
	if (style->options->period_ns)
		snprintf(time, sizeof(time), ", %.*f s", seconds < 10 ? 2 : (seconds < 100),
			seconds);
	snprintf(name, bytes, "all: %s %.100s%s%s", count, style->count_name, time,
		style->options->is_reversed ? ", by the function they ended in" : "");
}

static unsigned box_place(
	const struct palette *palette, const struct calltree *tree, const struct layout_box *box)
{
	if (box->kind != LAYOUT_NODE)
		return palette_merged(palette);
	if (box->node == CALLTREE_ROOT)
		return palette_root(palette);
	return palette_place(palette, calltree_node_at(tree, box->node)->frame);
}

/*
 * Edges of wide boxes sit on whole pixels with one pixel between neighbours; narrow ones keep their
 * width to a quarter of a pixel, which also keeps the numbers in the file short.
 */
static void snap(struct scene_box *box, double left, double width)
{
	if (width >= GAP_FROM_PX) {
		box->x = floor(left + 0.5);
		box->width = floor(left + width + 0.5) - box->x - 1;
	} else {
		box->x = floor(left * 4 + 0.5) / 4;
		box->width = floor(width * 4 + 0.5) / 4;
	}
}

static int add_label(struct scene *scene, const struct calltree *tree,
	const struct layout_box *from, const struct scene_box *box)
{
	double em_px = scene->style->fonts[FONT_LABEL].size_px;
	double padding_px = floor(em_px * LABEL_PADDING_EM + 0.5);
	char own[192] = "", fitted[LABEL_BYTES];
	const char *name = own;

	if (from->kind == LAYOUT_DEEPER)
		snprintf(own, sizeof(own), "+%u deeper", from->count);
	else if (from->kind == LAYOUT_NODE && from->node == CALLTREE_ROOT)
		name_root(own, sizeof(own), tree, scene->style);
	else if (from->kind == LAYOUT_NODE)
		name = calltree_frame_at(tree, calltree_node_at(tree, from->node)->frame)->name;
	if (!label_fit(
		    fitted, name, box->width - 2 * padding_px, &scene->fonts[FONT_LABEL].measure))
		return 0;
	/* Half pixels keep the letters of all rows alike. */
	double y = box->y + floor((box->height / 2 + em_px * LABEL_DROP_EM) * 2 + 0.5) / 2;

	return scene_add_text(scene, box->x + padding_px, y, FONT_LABEL, fitted);
}

int scene_add_graph(struct scene *scene, const struct calltree *tree, const struct layout *layout,
	double left_px, double top_px)
{
	const struct style *style = scene->style;
	double bottom_px = top_px + scene_graph_px(scene, layout);
	double labelled_px = style->fonts[FONT_LABEL].size_px * LABELLED_MIN_EM;
	int is_icicle = style->options->direction == PICTURE_ICICLE;

	for (uint32_t i = 0; i < layout->count; i++) {
		const struct layout_box *from = &layout->boxes[i];
		struct scene_box *box = &scene->boxes[scene->box_count++];

		snap(box, left_px + from->left_px, from->width_px);
		box->y = is_icicle ? top_px + from->row * style->row_px
				   : bottom_px - (from->row + 1.0) * style->row_px;
		box->height = style->row_px - 1;
		box->place = box_place(&style->palette, tree, from);
		if (from->width_px < labelled_px || scene->text_bytes > TEXT_BYTES_MAX)
			continue;
		int error = add_label(scene, tree, from, box);

		if (error)
			return error;
	}
	return 0;
}
