/* SPDX-License-Identifier: MIT */
/*
 * Compose the picture: title and subtitle; the graph, rows of boxes with labels, with the root in
 * the lowest row (in the highest row of an icicle); legends and notes below the graph.
 */
#include "render/scene.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/label.h"
#include "render/layout.h"
#include "render/legend.h"

/* ---- the graph ------------------------------------------------------------------------------- */

#define LABEL_PADDING_EM 0.45
/* distance from the middle of a box down to its text's baseline */
#define LABEL_DROP_EM	 0.364
#define LABELLED_MIN_EM	 2.2   /* boxes narrower than this have no label */
/* a box at least this wide is drawn one pixel narrower, as a gap to the next box */
#define GAP_FROM_PX	 3.0
/* inlined boxes at least this wide have a dashed edge */
#define DASHED_FROM_PX	 8.0

/* Bytes of label text per picture. When they are used up, rows far from the root get no labels. */
#define TEXT_BYTES_MAX 440000u
#define TEXT_MARKUP    24u /* bytes of markup per text */
/* bytes that escaping adds to a character that XML reserves */
#define ESCAPE_BYTES   4u

/*
 * Add clean @text with the start of its baseline at (@x, @y). The caller has allocated room in the
 * array. Returns 0 or -ENOMEM.
 */
static int add_text(struct scene *scene, double x, double y, enum font_role role, const char *text)
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

static double graph_px(const struct scene *scene, const struct layout *layout)
{
	return layout->rows * scene->style->row_px;
}

/*
 * Print the root's label. If waiting time is shown, leave out the number of samples, because
 * waiting time is not sampled.
 */
static void name_root(
	char *name, size_t bytes, const struct calltree *tree, const struct style *style)
{
	static const char *const times[] = {
		[CALLTREE_TIMES_CPU] = "CPU time",
		[CALLTREE_TIMES_WAITS] = "waiting time",
		[CALLTREE_TIMES_BOTH] = "CPU and waiting time",
	};
	const struct picture_options *options = style->options;
	double seconds = (double)calltree_total(tree) * (double)options->period_ns / 1e9;
	bool has_waits = options->everything || calltree_waits(tree);
	char count[32], time[32] = "";

	count_text(count, sizeof(count), calltree_total(tree));
	if (options->period_ns)
		snprintf(time, sizeof(time), "%.*f s", seconds < 10 ? 2 : (seconds < 100), seconds);
	if (has_waits && *time && options->times != CALLTREE_TIMES_CPU)
		snprintf(name, bytes, "all: %s", time);
	else
		snprintf(name, bytes, "all: %s %.100s%s%s", count, style->count_name,
			*time ? ", " : "", time);
	snprintf(name + strlen(name), bytes - strlen(name), "%s%s%s", has_waits ? " of " : "",
		has_waits ? times[options->times] : "",
		options->is_reversed ? ", by the function they ended in" : "");
}

static unsigned box_color_index(
	const struct palette *palette, const struct calltree *tree, const struct layout_box *box)
{
	if (box->kind != LAYOUT_NODE)
		return palette_merged(palette);
	if (box->node == CALLTREE_ROOT)
		return palette_root(palette);
	return palette_index(palette, calltree_node_at(tree, box->node)->frame);
}

static bool is_inlined(const struct calltree *tree, const struct layout_box *box)
{
	return box->kind == LAYOUT_NODE && box->node != CALLTREE_ROOT &&
	       calltree_frame_at(tree, calltree_node_at(tree, box->node)->frame)->kind ==
		       CALLTREE_INLINE;
}

/*
 * Align the edges of wide boxes to whole pixels, with one pixel between boxes. Round the edges of
 * narrow boxes to quarters of a pixel, which also makes the numbers in the file shorter.
 */
static void snap_edges(struct scene_box *box, double left, double width)
{
	if (width >= GAP_FROM_PX) {
		box->x = floor(left + 0.5);
		box->width = floor(left + width + 0.5) - box->x - 1;
	} else {
		box->x = floor(left * 4 + 0.5) / 4;
		box->width = floor(width * 4 + 0.5) / 4;
	}
}

/* Returns the name of the function in a box, or NULL if the box is not a function's. */
static const char *name_in(const struct calltree *tree, const struct layout_box *box)
{
	return box->kind == LAYOUT_NODE && box->node != CALLTREE_ROOT
		       ? calltree_frame_at(tree, calltree_node_at(tree, box->node)->frame)->name
		       : NULL;
}

/*
 * Returns the name in the next labelled box to the left of @from (@step -1) or to the right (1);
 * NULL if there is none.
 */
static const char *name_beside(const struct calltree *tree, const struct layout *layout,
	const struct layout_box *from, int step, double labelled_px)
{
	for (int64_t i = from - layout->boxes + step; i >= 0 && i < layout->count; i += step) {
		const struct layout_box *box = &layout->boxes[i];

		if (box->row != from->row)
			break;
		if (box->width_px >= labelled_px)
			return name_in(tree, box);
	}
	return NULL;
}

static int add_label(struct scene *scene, const struct calltree *tree, const struct layout *layout,
	const struct layout_box *from, const struct scene_box *box)
{
	double em_px = scene->style->fonts[FONT_LABEL].size_px;
	double padding_px = floor(em_px * LABEL_PADDING_EM + 0.5);
	double labelled_px = em_px * LABELLED_MIN_EM;
	char own[192] = "", fitted[LABEL_BYTES];
	const char *name = name_in(tree, from), *beside[2] = {NULL, NULL};

	if (from->kind == LAYOUT_DEEPER)
		snprintf(own, sizeof(own), "+%u deeper", from->count);
	else if (from->kind == LAYOUT_NODE && !name)
		name_root(own, sizeof(own), tree, scene->style);
	for (int side = 0; name && side < 2; side++)
		beside[side] = name_beside(tree, layout, from, 2 * side - 1, labelled_px);
	if (!label_fit(fitted, name ? name : own, beside, box->width - 2 * padding_px,
		    &scene->fonts[FONT_LABEL].measure,
		    !name				 ? LABEL_TEXT
		    : scene->style->options->whole_names ? LABEL_WHOLE
							 : LABEL_SHORT))
		return 0;
	/* Round the baseline to half pixels, so that letters look the same in all rows. */
	double y = box->y + floor((box->height / 2 + em_px * LABEL_DROP_EM) * 2 + 0.5) / 2;

	return add_text(scene, box->x + padding_px, y, FONT_LABEL, fitted);
}

/*
 * Add the boxes of @layout with labels. The graph's upper left corner is at (@left_px, @top_px).
 * The caller has allocated room in the arrays. Returns 0 or -ENOMEM.
 */
static int add_graph(struct scene *scene, const struct calltree *tree, const struct layout *layout,
	double left_px, double top_px)
{
	const struct style *style = scene->style;
	double bottom_px = top_px + graph_px(scene, layout);
	double labelled_px = style->fonts[FONT_LABEL].size_px * LABELLED_MIN_EM;
	int is_icicle = style->options->direction == PICTURE_ICICLE;

	for (uint32_t i = 0; i < layout->count; i++) {
		const struct layout_box *from = &layout->boxes[i];
		struct scene_box *box = &scene->boxes[scene->box_count++];

		snap_edges(box, left_px + from->left_px, from->width_px);
		box->y = is_icicle ? top_px + from->row * style->row_px
				   : bottom_px - (from->row + 1.0) * style->row_px;
		box->height = style->row_px - 1;
		box->color_index = box_color_index(&style->palette, tree, from);
		box->is_inlined = from->width_px >= DASHED_FROM_PX && is_inlined(tree, from);
		if (from->width_px < labelled_px || scene->text_bytes > TEXT_BYTES_MAX)
			continue;
		int error = add_label(scene, tree, layout, from, box);

		if (error)
			return error;
	}
	return 0;
}

/* ---- around it ------------------------------------------------------------------------------- */

#define MARGIN_PX	 24.0
/* Vertical positions (from the top of the picture) and heights, without style->scale. */
#define TITLE_BASE_PX	 38.0
#define SUBTITLE_BASE_PX 59.0
#define HEADER_PX	 76.0
#define HEADER_PLAIN_PX	 56.0 /* without a subtitle */
#define EMPTY_PX	 120.0
#define FOOTER_PX	 20.0
/* gap between the graph and the lines below it */
#define NOTES_GAP_PX	 8.0
#define NOTES_LINE_PX	 17.0
#define NOTE_LINE_PX	 15.0
#define NOTES_MAX	 64u /* lines */
/*
 * Limits that keep the static picture small. The last rows beyond ROWS_CALM are cut off if the
 * boxes of each are together narrower than NEEDLE_PX; the viewer shows these rows.
 */
#define ROWS_MAX  150u
#define ROWS_CALM 36u
#define NEEDLE_PX 32.0
#define BOXES_MAX 16000u

/* Maximum number of texts that are not labels: title, subtitle, empty, two notes, legends. */
#define TEXTS_MORE (NOTES_MAX + 5u + LEGEND_MAX + 1u + PALETTE_WAITS)
/* Maximum number of boxes that are not in the graph: the empty panel, legends. */
#define BOXES_MORE (1u + LEGEND_MAX * LEGEND_SHADES + PALETTE_WAITS)

static double scaled(const struct scene *scene, double px)
{
	return floor(px * scene->style->scale + 0.5);
}

/* Add @text (any bytes) as one line, cut to the width of the picture. */
static int add_line(struct scene *scene, double y, enum font_role role, const char *text)
{
	char fitted[LABEL_BYTES];

	if (!label_fit(fitted, text, NULL, scene->width_px - 2 * MARGIN_PX,
		    &scene->fonts[role].measure, LABEL_TEXT))
		return 0;
	return add_text(scene, MARGIN_PX, y, role, fitted);
}

/* Add a panel with a text that says why there is no graph. */
static int add_empty(struct scene *scene, double top_px)
{
	char fitted[LABEL_BYTES];
	struct scene_box panel = {MARGIN_PX, top_px, scene->width_px - 2 * MARGIN_PX,
		scaled(scene, EMPTY_PX), palette_root(&scene->style->palette), false};
	const struct label_measure *measure = &scene->fonts[FONT_SUBTITLE].measure;

	scene->boxes[scene->box_count++] = panel;
	if (!label_fit(fitted, scene->style->empty, NULL, panel.width - 2 * MARGIN_PX, measure,
		    LABEL_TEXT))
		return 0;
	return add_text(scene, floor((scene->width_px - label_width_px(fitted, measure)) / 2),
		top_px + panel.height / 2 + 4, FONT_SUBTITLE, fitted);
}

/*
 * Returns the length in bytes of the part of @line (clean, not empty) that fits into @width_px: cut
 * at a space if possible, at least one character.
 */
static size_t wrap_text(const char *line, double width_px, const struct label_measure *measure)
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

/* Add one line of the user's notes, wrapped to the picture's width, and advance *@y_px past it. */
static int add_wrapped(struct scene *scene, double *y_px, char *line, uint32_t last_text)
{
	const struct label_measure *measure = &scene->fonts[FONT_SUBTITLE].measure;
	int error = 0;

	do {
		size_t length =
			*line ? wrap_text(line, scene->width_px - 2 * MARGIN_PX, measure) : 0;
		char after = line[length];

		*y_px += scaled(scene, NOTES_LINE_PX);
		line[length] = '\0';
		if (length)
			error = add_text(
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

#define LEGEND_BOX_PX 9.0
#define LEGEND_GAP_PX 14.0 /* distance between two meanings */

/* Add a text at *@x_px, with the baseline @y_px, if it fits. Advance *@x_px in either case. */
static int add_word(struct scene *scene, double *x_px, double y_px, const char *text)
{
	double width_px = label_width_px(text, &scene->fonts[FONT_NOTE].measure);
	double x = *x_px;

	*x_px += width_px + scaled(scene, LEGEND_GAP_PX);
	return x + width_px > scene->width_px - MARGIN_PX
		       ? 0
		       : add_text(scene, x, y_px, FONT_NOTE, text);
}

/*
 * Add a legend entry at *@x_px: a box with up to LEGEND_SHADES colours and its meaning. Add nothing
 * if they do not fit. Advance *@x_px. @y_px is the baseline.
 */
static int add_meaning(struct scene *scene, double *x_px, double y_px,
	const unsigned indices[LEGEND_SHADES], const char *text)
{
	double side_px = scaled(scene, LEGEND_BOX_PX), end_px = *x_px + side_px + scaled(scene, 4);
	bool is_one = indices[0] == indices[LEGEND_SHADES - 1];
	unsigned shades = is_one ? 1 : LEGEND_SHADES;

	if (end_px + label_width_px(text, &scene->fonts[FONT_NOTE].measure) >
		scene->width_px - MARGIN_PX)
		return 0;
	for (unsigned i = 0; i < shades; i++)
		scene->boxes[scene->box_count++] = (struct scene_box){*x_px + side_px / shades * i,
			y_px - side_px + 1, side_px / shades, side_px, indices[i], false};
	*x_px = end_px;
	return add_word(scene, x_px, y_px, text);
}

/* Advance *@y_px by one legend line, and return the line's baseline. */
static double begin_legend(const struct scene *scene, double *y_px)
{
	*y_px += scaled(scene, NOTE_LINE_PX);
	return *y_px - scaled(scene, 4);
}

/*
 * Add the legend of colours if the tree has more than one class of frames. On paper nothing else
 * explains the colours.
 */
static int add_legend(struct scene *scene, const struct calltree *tree, double *y_px)
{
	struct legend_entry entries[LEGEND_MAX];
	unsigned count = legend_of(&scene->style->palette, tree, entries);
	double x_px = MARGIN_PX;
	int error = 0;

	if (count < 2)
		return 0;
	double baseline_px = begin_legend(scene, y_px);

	for (unsigned i = 0; !error && i < count; i++)
		error = add_meaning(scene, &x_px, baseline_px, entries[i].indices, entries[i].text);
	return error;
}

/* Add the legend of the kinds of waits that @tree has. */
static int add_waits(struct scene *scene, const struct calltree *tree, double *y_px)
{
	const struct palette *palette = &scene->style->palette;
	bool is_there[PALETTE_MAX] = {false};
	double x_px = MARGIN_PX;

	for (uint32_t i = 0; i < calltree_frames(tree); i++)
		if (calltree_frame_at(tree, i)->kind == CALLTREE_WAIT)
			is_there[palette_index(palette, i)] = true;
	if (!calltree_waits(tree))
		return 0;
	double baseline_px = begin_legend(scene, y_px);
	int error = add_word(scene, &x_px, baseline_px, "Waiting for:");

	for (unsigned i = 0; !error && i < PALETTE_WAITS; i++) {
		unsigned index = palette_first_index(palette, palette_waits[i].class);

		if (is_there[index])
			error = add_meaning(scene, &x_px, baseline_px,
				(const unsigned[LEGEND_SHADES]){index, index, index},
				palette_waits[i].name);
	}
	return error;
}

/* Add everything below the graph, from *@y_px on, and advance *@y_px past it. */
static int add_footer(struct scene *scene, const struct calltree *tree, const struct layout *layout,
	const char *note, double *y_px)
{
	double top_px = *y_px += scaled(scene, NOTES_GAP_PX);
	char folded[96];
	int error = layout->count ? add_legend(scene, tree, y_px) : 0;

	if (!error)
		error = add_waits(scene, tree, y_px);
	if (!error)
		error = add_notes(scene, y_px);
	if (!error && layout->folded) {
		snprintf(folded, sizeof(folded),
			"Stacks too deep to draw end in grey: %u more levels at most.",
			layout->folded);
		*y_px += scaled(scene, NOTE_LINE_PX);
		error = add_line(scene, *y_px - scaled(scene, 4), FONT_NOTE, folded);
	}
	/* The note explains zooming, so an empty picture has none. */
	if (!error && note && layout->count) {
		*y_px += scaled(scene, NOTE_LINE_PX);
		error = add_line(scene, *y_px - scaled(scene, 4), FONT_NOTE, note);
	}
	if (*y_px == top_px)
		*y_px -= scaled(scene, NOTES_GAP_PX);
	return error;
}

static int compose_scene(struct scene *scene, const struct calltree *tree,
	const struct layout *layout, const char *note)
{
	const struct style *style = scene->style;
	int has_subtitle = style->subtitle[0] != '\0';
	double top_px = scaled(scene, has_subtitle ? HEADER_PX : HEADER_PLAIN_PX);
	double y_px = top_px + (layout->count ? graph_px(scene, layout) : scaled(scene, EMPTY_PX));
	int error = add_line(scene, scaled(scene, TITLE_BASE_PX), FONT_TITLE, style->title);

	if (!error && has_subtitle)
		error = add_line(
			scene, scaled(scene, SUBTITLE_BASE_PX), FONT_SUBTITLE, style->subtitle);
	if (!error && !layout->count)
		error = add_empty(scene, top_px);
	if (!error)
		error = add_footer(scene, tree, layout, note, &y_px);
	scene->height_px = y_px + FOOTER_PX;
	return error ? error : add_graph(scene, tree, layout, MARGIN_PX, top_px);
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
	scene->boxes = calloc(layout.count + BOXES_MORE, sizeof(*scene->boxes));
	scene->texts = calloc(layout.count + TEXTS_MORE, sizeof(*scene->texts));
	error = -ENOMEM;
	if (scene->boxes && scene->texts)
		error = compose_scene(scene, tree, &layout, note);
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
