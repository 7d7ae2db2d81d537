/* SPDX-License-Identifier: MIT */
/*
 * The composition: margins, title, subtitle, the graph, and below it notes.
 */
#include "render/scene.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/scene_graph.h"

#define MARGIN_PX	 24.0
#define TITLE_BASE_PX	 38.0 /* baselines, from the top; these and what follows by style->scale */
#define SUBTITLE_BASE_PX 59.0
#define HEADER_PX	 76.0
#define HEADER_PLAIN_PX	 56.0 /* without a subtitle */
#define EMPTY_PX	 120.0
#define FOOTER_PX	 20.0
#define NOTES_GAP_PX	 8.0 /* from the graph to the lines below it */
#define NOTES_LINE_PX	 17.0
#define NOTE_LINE_PX	 15.0
#define NOTES_MAX	 64u /* lines */
#define ROWS_MAX	 150u
#define ROWS_CALM	 36u
#define NEEDLE_PX	 32.0
#define BOXES_MAX	 16000u

/* Texts beside labels: title, subtitle, empty, two notes of our own. */
#define TEXTS_MORE (NOTES_MAX + 5u)

static double scaled(const struct scene *scene, double px)
{
	return floor(px * scene->style->scale + 0.5);
}

/* @text of any bytes, cut to the width of the picture. */
static int add_line(struct scene *scene, double y, enum font_role role, const char *text)
{
	char fitted[LABEL_BYTES];

	if (!label_fit(fitted, text, scene->width_px - 2 * MARGIN_PX, &scene->fonts[role].measure))
		return 0;
	return scene_add_text(scene, MARGIN_PX, y, role, fitted);
}

/* The place of the graph when there is nothing to show in it, and why. */
static int add_empty(struct scene *scene, double top_px)
{
	char fitted[LABEL_BYTES];
	struct scene_box panel = {MARGIN_PX, top_px, scene->width_px - 2 * MARGIN_PX,
		scaled(scene, EMPTY_PX), palette_root(&scene->style->palette)};
	const struct label_measure *measure = &scene->fonts[FONT_SUBTITLE].measure;

	scene->boxes[scene->box_count++] = panel;
	if (!label_fit(fitted, scene->style->empty, panel.width - 2 * MARGIN_PX, measure))
		return 0;
	return scene_add_text(scene, floor((scene->width_px - label_width_px(fitted, measure)) / 2),
		top_px + panel.height / 2 + 4, FONT_SUBTITLE, fitted);
}

/*
 * How many bytes of @line (clean, not empty) fit into @width_px: up to a space if there is one, at
 * least one character.
 */
static size_t wrap(const char *line, double width_px, const struct label_measure *measure)
{
	const char *at = line, *space = NULL;
	double used_px = 0;

	while (*at) {
		const char *before = at;
		uint32_t point = label_next(&at);

		used_px += measure->advance_px(measure, point);
		if (point == ' ')
			space = before;
		else if (used_px > width_px && before > line)
			return (size_t)((space > line ? space : before) - line);
	}
	return (size_t)(at - line);
}

/* One line of the person's, on as many as it needs. *@y_px is the top of the next. */
static int add_wrapped(struct scene *scene, double *y_px, char *line, uint32_t last_text)
{
	const struct label_measure *measure = &scene->fonts[FONT_SUBTITLE].measure;
	int error = 0;

	do {
		size_t length = *line ? wrap(line, scene->width_px - 2 * MARGIN_PX, measure) : 0;
		char after = line[length];

		*y_px += scaled(scene, NOTES_LINE_PX);
		line[length] = '\0';
		if (length)
			error = scene_add_text(
				scene, MARGIN_PX, *y_px - scaled(scene, 4), FONT_SUBTITLE, line);
		line[length] = after;
		line += length + strspn(line + length, " ");
	} while (!error && *line && scene->text_count < last_text);
	return error;
}

static int add_notes(struct scene *scene, double *y_px)
{
	const char *notes = scene->style->notes;
	uint32_t last_text = scene->text_count + NOTES_MAX;

	for (unsigned lines = 0; *notes && lines < NOTES_MAX; lines++) {
		size_t length = strcspn(notes, "\n");
		char *line = strndup(notes, length), clean[LABEL_BYTES];
		int error = -ENOMEM;

		if (line) {
			label_clean(clean, sizeof(clean), line);
			error = add_wrapped(scene, y_px, clean, last_text);
		}
		free(line);
		if (error || scene->text_count >= last_text)
			return error;
		notes += length + (notes[length] == '\n');
	}
	return 0;
}

/* What is below the graph, from *@y_px on, which is moved below it. */
static int add_footer(
	struct scene *scene, const struct layout *layout, const char *note, double *y_px)
{
	double top_px = *y_px += scaled(scene, NOTES_GAP_PX);
	char folded[96];
	int error = add_notes(scene, y_px);

	if (!error && layout->folded) {
		snprintf(folded, sizeof(folded),
			"Stacks too deep to draw end in grey: %u more levels at most.",
			layout->folded);
		*y_px += scaled(scene, NOTE_LINE_PX);
		error = add_line(scene, *y_px - scaled(scene, 4), FONT_NOTE, folded);
	}
	/* A note about zooming has no place under nothing. */
	if (!error && note && layout->count) {
		*y_px += scaled(scene, NOTE_LINE_PX);
		error = add_line(scene, *y_px - scaled(scene, 4), FONT_NOTE, note);
	}
	if (*y_px == top_px)
		*y_px -= scaled(scene, NOTES_GAP_PX);
	return error;
}

static int compose(struct scene *scene, const struct calltree *tree, const struct layout *layout,
	const char *note)
{
	const struct style *style = scene->style;
	int has_subtitle = style->subtitle[0] != '\0';
	double top_px = scaled(scene, has_subtitle ? HEADER_PX : HEADER_PLAIN_PX);
	double y_px =
		top_px + (layout->count ? scene_graph_px(scene, layout) : scaled(scene, EMPTY_PX));
	int error = add_line(scene, scaled(scene, TITLE_BASE_PX), FONT_TITLE, style->title);

	if (!error && has_subtitle)
		error = add_line(
			scene, scaled(scene, SUBTITLE_BASE_PX), FONT_SUBTITLE, style->subtitle);
	if (!error && !layout->count)
		error = add_empty(scene, top_px);
	if (!error)
		error = add_footer(scene, layout, note, &y_px);
	scene->height_px = y_px + FOOTER_PX;
	return error ? error : scene_add_graph(scene, tree, layout, MARGIN_PX, top_px);
}

int scene_init(struct scene *scene, const struct calltree *tree, const struct preorder *preorder,
	const struct style *style, const char *note)
{
	struct layout layout = {0};
	int error = 0;

	*scene = (struct scene){.style = style, .width_px = style->width_px};
	for (unsigned role = 0; !error && role < FONT_ROLES; role++)
		error = font_init(&scene->fonts[role], style->family, &style->fonts[role]);
	if (!error)
		error = layout_init(&layout, tree, preorder,
			&(struct layout_limits){
				.width_px = scene->width_px - 2 * MARGIN_PX,
				.narrowest_px = style->narrowest_px,
				.rows = ROWS_MAX,
				.calm_rows = ROWS_CALM,
				.needle_px = NEEDLE_PX,
				.boxes = BOXES_MAX,
			});
	if (error)
		goto out;
	scene->boxes = calloc(layout.count + 1, sizeof(*scene->boxes));
	scene->texts = calloc(layout.count + TEXTS_MORE, sizeof(*scene->texts));
	error = -ENOMEM;
	if (scene->boxes && scene->texts)
		error = compose(scene, tree, &layout, note);
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
