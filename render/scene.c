/* SPDX-License-Identifier: MIT */
/*
 * The composition: margins, title, subtitle, rows of boxes with their labels, the note. The root is
 * the lowest row.
 */
#include "render/scene.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "render/palette.h"

#define WIDTH_DEFAULT_PX 1200u
#define WIDTH_MIN_PX	 240u
#define WIDTH_MAX_PX	 16000u
#define MARGIN_PX	 24.0
#define TITLE_BASE_PX	 38.0 /* baselines, from the top */
#define SUBTITLE_BASE_PX 59.0
#define HEADER_PX	 76.0
#define HEADER_PLAIN_PX	 56.0 /* without a subtitle */
#define EMPTY_PX	 120.0
#define FOOTER_PX	 20.0
#define FOOTER_NOTE_PX	 38.0
#define NARROWEST_PX	 0.5
#define ROWS_MAX	 150u
#define BOXES_MAX	 40000u
#define BOX_PX		 (SCENE_ROW_PX - 1.0)
#define LABEL_PADDING_PX 5.0
#define LABEL_BASE_PX	 12.5 /* below the top of its box */
#define LABELLED_MIN_PX	 24.0
#define GAP_FROM_PX	 3.0 /* boxes at least this wide give up a pixel to the gap */

static int add_text(struct scene *scene, double x, double y, enum font_role role, const char *text)
{
	char *kept = strdup(text);

	if (!kept)
		return -ENOMEM;
	scene->texts[scene->text_count++] = (struct scene_text){x, y, role, kept};
	while (label_next(&text))
		scene->glyphs++;
	return 0;
}

/* @text of any bytes, cut to the width of the picture. */
static int add_line(struct scene *scene, double y, enum font_role role, const char *text)
{
	char fitted[LABEL_BYTES];

	if (!label_fit(fitted, text, scene->width_px - 2 * MARGIN_PX, &scene->fonts[role].measure))
		return 0;
	return add_text(scene, MARGIN_PX, y, role, fitted);
}

/* 1234567 as "1,234,567". */
static void format_count(char *text, size_t bytes, uint64_t count)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, count);
	size_t used = 0;

	for (int i = 0; i < length && used + 2 < bytes; i++) {
		if (i && (length - i) % 3 == 0)
			text[used++] = ',';
		text[used++] = digits[i];
	}
	text[used] = '\0';
}

static void box_name(char *name, size_t bytes, const struct calltree *tree,
	const struct layout_box *box, const struct picture_options *options)
{
	char count[32];

	name[0] = '\0';
	if (box->kind == LAYOUT_DEEPER) {
		snprintf(name, bytes, "+%u deeper", box->count);
	} else if (box->kind == LAYOUT_NODE && box->node == CALLTREE_ROOT) {
		double seconds = (double)calltree_total(tree) * (double)options->period_ns / 1e9;

		format_count(count, sizeof(count), calltree_total(tree));
		if (options->period_ns)
			snprintf(name, bytes, "all: %s samples, %.*f s", count,
				seconds < 10 ? 2 : (seconds < 100), seconds);
		else
			snprintf(name, bytes, "all: %s samples", count);
	}
}

static unsigned box_place(const struct calltree *tree, const struct layout_box *box)
{
	if (box->kind != LAYOUT_NODE)
		return palette_merged();
	if (box->node == CALLTREE_ROOT)
		return palette_root();
	const struct calltree_frame *frame =
		calltree_frame_at(tree, calltree_node_at(tree, box->node)->frame);

	return palette_place(frame->name, frame->kind);
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

static int add_box(struct scene *scene, const struct calltree *tree, const struct layout_box *from,
	const struct picture_options *options, double bottom_px)
{
	struct scene_box *box = &scene->boxes[scene->box_count++];
	char own[64], fitted[LABEL_BYTES];
	const char *name = own;

	snap(box, MARGIN_PX + from->left_px, from->width_px);
	box->y = bottom_px - (from->row + 1.0) * SCENE_ROW_PX;
	box->height = BOX_PX;
	box->place = box_place(tree, from);
	if (from->width_px < LABELLED_MIN_PX)
		return 0;
	box_name(own, sizeof(own), tree, from, options);
	if (from->kind == LAYOUT_NODE && from->node != CALLTREE_ROOT)
		name = calltree_frame_at(tree, calltree_node_at(tree, from->node)->frame)->name;
	if (!label_fit(fitted, name, box->width - 2 * LABEL_PADDING_PX,
		    &scene->fonts[FONT_LABEL].measure))
		return 0;
	return add_text(
		scene, box->x + LABEL_PADDING_PX, box->y + LABEL_BASE_PX, FONT_LABEL, fitted);
}

static int add_boxes(struct scene *scene, const struct calltree *tree, const struct layout *layout,
	const struct picture_options *options, double bottom_px)
{
	for (uint32_t i = 0; i < layout->count; i++) {
		int error = add_box(scene, tree, &layout->boxes[i], options, bottom_px);

		if (error)
			return error;
	}
	return 0;
}

/* The place of the graph when there is nothing to show in it, and why. */
static int add_empty(struct scene *scene, const char *text, double top_px)
{
	char fitted[LABEL_BYTES];
	struct scene_box panel = {
		MARGIN_PX, top_px, scene->width_px - 2 * MARGIN_PX, EMPTY_PX, palette_root()};
	const struct label_measure *measure = &scene->fonts[FONT_SUBTITLE].measure;

	scene->boxes[scene->box_count++] = panel;
	if (!label_fit(fitted, text, panel.width - 2 * MARGIN_PX, measure))
		return 0;
	return add_text(scene, floor((scene->width_px - label_width_px(fitted, measure)) / 2),
		top_px + EMPTY_PX / 2 + 4, FONT_SUBTITLE, fitted);
}

static int compose(struct scene *scene, const struct calltree *tree, const struct layout *layout,
	const struct picture_options *options, const char *note)
{
	int has_subtitle = options->subtitle && options->subtitle[0];
	double top_px = has_subtitle ? HEADER_PX : HEADER_PLAIN_PX;
	double bottom_px = top_px + (layout->count ? layout->rows * SCENE_ROW_PX : EMPTY_PX);
	const char *empty = options->empty ? options->empty : "No samples were recorded.";
	int error;

	/* A note about zooming has no place under nothing. */
	note = layout->count ? note : NULL;
	scene->height_px = bottom_px + (note ? FOOTER_NOTE_PX : FOOTER_PX);
	error = add_line(
		scene, TITLE_BASE_PX, FONT_TITLE, options->title ? options->title : "Flame graph");
	if (!error && has_subtitle)
		error = add_line(scene, SUBTITLE_BASE_PX, FONT_SUBTITLE, options->subtitle);
	if (!error && !layout->count)
		error = add_empty(scene, empty, top_px);
	if (!error && note)
		error = add_line(scene, bottom_px + FOOTER_NOTE_PX / 2 + 2, FONT_NOTE, note);
	return error ? error : add_boxes(scene, tree, layout, options, bottom_px);
}

int scene_init(struct scene *scene, const struct calltree *tree, const struct preorder *preorder,
	const struct picture_options *options, const char *note)
{
	uint32_t width_px = options->width ? options->width : WIDTH_DEFAULT_PX;
	struct layout layout = {0};
	int error = 0;

	*scene = (struct scene){0};
	width_px = width_px < WIDTH_MIN_PX ? WIDTH_MIN_PX : width_px;
	scene->width_px = width_px > WIDTH_MAX_PX ? WIDTH_MAX_PX : width_px;
	for (unsigned role = 0; !error && role < FONT_ROLES; role++)
		error = font_init(&scene->fonts[role], role);
	if (!error)
		error = layout_init(&layout, tree, preorder,
			&(struct layout_limits){
				.width_px = scene->width_px - 2 * MARGIN_PX,
				.narrowest_px = NARROWEST_PX,
				.rows = ROWS_MAX,
				.boxes = BOXES_MAX,
			});
	if (error)
		goto out;
	scene->boxes = calloc(layout.count + 1, sizeof(*scene->boxes));
	scene->texts = calloc(layout.count + 4, sizeof(*scene->texts));
	error = -ENOMEM;
	if (scene->boxes && scene->texts)
		error = compose(scene, tree, &layout, options, note);
out:
	layout_release(&layout);
	if (error)
		scene_release(scene);
	return error;
}

void scene_release(struct scene *scene)
{
	for (uint32_t i = 0; i < scene->text_count; i++)
		free(scene->texts[i].text);
	for (unsigned role = 0; role < FONT_ROLES; role++)
		font_release(&scene->fonts[role]);
	free(scene->texts);
	free(scene->boxes);
	*scene = (struct scene){0};
}
