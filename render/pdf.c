/* SPDX-License-Identifier: MIT */
/*
 * The picture as one page of PDF, as large as the picture. Text stays text: it can be selected and
 * searched.
 */
#include <cairo-pdf.h>
#include <time.h>

#include "render/drawing.h"
#include "render/label.h"

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

static cairo_surface_t *surface_new(const struct drawing *drawing, struct sink *sink, double *scale)
{
	cairo_surface_t *surface = cairo_pdf_surface_create_for_stream(sink_write, sink,
		drawing->scene.width_px * POINTS, drawing->scene.height_px * POINTS);

	set_metadata(surface, &drawing->style);
	*scale = POINTS;
	return surface;
}

static cairo_status_t surface_write(cairo_surface_t *surface, struct sink *sink)
{
	(void)sink;
	cairo_surface_finish(surface);
	return cairo_surface_status(surface);
}

int picture_write_pdf(const struct calltree *tree, const struct picture_options *options, FILE *out)
{
	return drawing_write(
		tree, options, &(struct drawing_format){surface_new, surface_write}, out);
}
