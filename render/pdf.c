/* SPDX-License-Identifier: MIT */
/*
 * The picture as one page of PDF, as large as the picture. Text stays text: it can be selected and
 * searched.
 */
#include <cairo-pdf.h>
#include <errno.h>
#include <time.h>

#include "render/draw.h"
#include "render/label.h"
#include "render/picture.h"
#include "render/scene.h"
#include "render/sink.h"

/* Points per CSS pixel. */
#define POINTS 0.75

static void set_metadata(cairo_surface_t *surface, const struct style *style)
{
	char clean[LABEL_BYTES], date[64];
	time_t seconds = (time_t)style->options->created_s;
	struct tm tm;

	label_clean(clean, sizeof(clean), style->title);
	cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, clean);
	label_clean(clean, sizeof(clean), style->subtitle);
	if (clean[0])
		cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_SUBJECT, clean);
	cairo_pdf_surface_set_metadata(
		surface, CAIRO_PDF_METADATA_CREATOR, "flamerun " FLAMERUN_VERSION);
	/* Left alone, cairo writes the time of day; NULL takes it out. */
	if (style->options->created_s && gmtime_r(&seconds, &tm) &&
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm))
		cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, date);
	else
		cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, NULL);
}

int picture_write_pdf(const struct calltree *tree, const struct picture_options *options, FILE *out)
{
	struct preorder preorder = {0};
	struct style style;
	struct scene scene = {0};
	struct sink sink = {out, 0};
	cairo_surface_t *surface = NULL;
	int error = style_init(&style, options, tree);

	if (error)
		return error;
	error = preorder_init(&preorder, tree);
	if (!error)
		error = scene_init(&scene, tree, &preorder, &style, NULL);
	if (error)
		goto out;
	surface = cairo_pdf_surface_create_for_stream(
		sink_write, &sink, scene.width_px * POINTS, scene.height_px * POINTS);
	set_metadata(surface, &style);
	error = draw_scene(&scene, surface, POINTS, DRAW_TEXT);
	cairo_surface_finish(surface);
	if (!error)
		error = font_cairo_error(cairo_surface_status(surface));
	if (sink.error)
		error = sink.error;
out:
	if (surface)
		cairo_surface_destroy(surface);
	scene_release(&scene);
	preorder_release(&preorder);
	style_release(&style);
	return error;
}
