/* SPDX-License-Identifier: MIT */
/*
 * Sizes, inks and faces of a picture, from what was asked for.
 */
#include "render/style.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "render/label.h"

#define FAMILY_DEFAULT "DejaVu Sans"
#define LABEL_PX       11.0
#define ROW_PX	       18.0
#define NARROWEST_PX   0.5
#define WIDTH_PX       1200.0
#define LABEL_SHARE    0.8 /* of its row that a label may take at most */

static const struct font_style fonts[FONT_ROLES] = {
	[FONT_TITLE] = {17, 1, 0},
	[FONT_SUBTITLE] = {12, 0, 0},
	[FONT_LABEL] = {LABEL_PX, 0, 0},
	[FONT_NOTE] = {10, 0, 0},
};

/* By enum picture_ground; the viewer's style sheet has the same. */
static const uint32_t grounds[] = {0xffffff, 0x14171c};
static const uint32_t inks[][FONT_ROLES] = {
	{
		[FONT_TITLE] = 0x1f2328,
		[FONT_SUBTITLE] = 0x59636e,
		[FONT_LABEL] = 0x1f2328,
		[FONT_NOTE] = 0x6e7781,
	},
	{
		[FONT_TITLE] = 0xe6e9ee,
		[FONT_SUBTITLE] = 0xa0a8b3,
		[FONT_LABEL] = 0xf5f1ea,
		[FONT_NOTE] = 0x8b949e,
	},
};

/* 0 and what is no number mean the default. */
static double bounded(double value, double fallback, double from, double to)
{
	if (!(value > 0))
		return fallback;
	return value < from ? from : value > to ? to : value;
}

static int is_generic(const char *family)
{
	static const char *const names[] = {
		"serif", "sans-serif", "monospace", "cursive", "fantasy", "system-ui"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], family))
			return 1;
	return 0;
}

/* @asked is anybody's text: what could end a quoted name in CSS or XML leaves. */
static void set_family(struct style *style, const char *asked)
{
	char clean[STYLE_FAMILY_BYTES];
	size_t length = 0;

	label_clean(clean, sizeof(clean), asked ? asked : "");
	for (const char *at = clean; *at; at++)
		if (!strchr("'\"\\<>&;{}", *at))
			style->family[length++] = *at;
	style->family[length] = '\0';
	if (!style->family[0] || !strcmp(style->family, FAMILY_DEFAULT)) {
		strcpy(style->family, FAMILY_DEFAULT);
		strcpy(style->css_family, FONT_CSS_FAMILY);
	} else {
		const char *quote = is_generic(style->family) ? "" : "'";

		snprintf(style->css_family, sizeof(style->css_family), "%s%s%s," FONT_CSS_FAMILY,
			quote, style->family, quote);
	}
}

static void set_sizes(struct style *style, const struct picture_options *options)
{
	double width_px = bounded(options->width, WIDTH_PX, PICTURE_WIDTH_MIN, PICTURE_WIDTH_MAX);
	double label_px = bounded(options->font_size, 0, PICTURE_FONT_MIN, PICTURE_FONT_MAX);
	double row_px = bounded(options->frame_height, 0, PICTURE_ROW_MIN, PICTURE_ROW_MAX);

	/* One of the two alone brings the other along, but high rows no larger text. */
	if (!row_px)
		row_px = label_px ? fmin(label_px * ROW_PX / LABEL_PX, PICTURE_ROW_MAX) : ROW_PX;
	row_px = floor(row_px + 0.5);
	style->scale = label_px ? label_px / LABEL_PX : 1;
	if (!label_px)
		label_px = fmin(LABEL_PX, row_px * LABEL_PX / ROW_PX);
	label_px = fmin(label_px, row_px * LABEL_SHARE);
	style->width_px = width_px;
	style->row_px = row_px;
	style->narrowest_px =
		bounded(options->min_width, NARROWEST_PX, PICTURE_NARROW_MIN, PICTURE_NARROW_MAX);
	for (unsigned role = 0; role < FONT_ROLES; role++) {
		style->fonts[role] = fonts[role];
		style->fonts[role].size_px *= style->scale;
	}
	style->fonts[FONT_LABEL].size_px = label_px;
}

int style_init(
	struct style *style, const struct picture_options *options, const struct calltree *tree)
{
	unsigned ground = options->ground == PICTURE_DARK;

	*style = (struct style){
		.options = options,
		.title = options->title ? options->title : "Flame graph",
		.subtitle = options->subtitle ? options->subtitle : "",
		.notes = options->notes ? options->notes : "",
		.empty = options->empty ? options->empty : "No samples were recorded.",
		.count_name = options->count_name && options->count_name[0] ? options->count_name
									    : "samples",
		.ground = grounds[ground],
	};
	set_family(style, options->font);
	set_sizes(style, options);
	for (unsigned role = 0; role < FONT_ROLES; role++)
		style->fonts[role].ink = inks[ground][role];
	return palette_init(&style->palette, options->palette, tree);
}

void style_release(struct style *style)
{
	palette_release(&style->palette);
}
