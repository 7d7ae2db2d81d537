/* SPDX-License-Identifier: MIT */
/*
 * What comes before and after drawing, for all formats, and the formats that cairo writes whole:
 * one page of PDF, as large as the picture, whose text can be selected and searched; and PNG, at
 * two device pixels per CSS pixel where that fits, so that text stays readable on the screens of
 * today.
 */
#include "render/drawing.h"

#include <cairo-pdf.h>
#include <time.h>

#include "render/draw.h"
#include "render/label.h"

int drawing_init(struct drawing *drawing, const struct calltree *tree,
	const struct picture_options *options, const char *note)
{
	*drawing = (struct drawing){0};
	int error = style_init(&drawing->style, options, tree);

	if (error)
		return error;
	error = preorder_init(&drawing->preorder, tree);
	if (!error)
		error = scene_init(
			&drawing->scene, tree, &drawing->preorder, &drawing->style, note);
	if (error)
		drawing_release(drawing);
	return error;
}

void drawing_release(struct drawing *drawing)
{
	scene_release(&drawing->scene);
	preorder_release(&drawing->preorder);
	style_release(&drawing->style);
}

int drawing_write(const struct calltree *tree, const struct picture_options *options,
	const struct drawing_format *format, FILE *out)
{
	struct drawing drawing;
	struct sink sink = {out, 0};
	double scale;
	int error = drawing_init(&drawing, tree, options, NULL);

	if (error)
		return error;
	cairo_surface_t *surface = format->surface_new(&drawing, &sink, &scale);

	error = draw_scene(&drawing.scene, surface, scale, DRAW_TEXT);
	if (!error)
		error = font_cairo_error(format->surface_write(surface, &sink));
	cairo_surface_destroy(surface);
	/* What the stream said, rather than that it said something. */
	if (sink.error)
		error = sink.error;
	drawing_release(&drawing);
	return error;
}

/* ---- PDF ------------------------------------------------------------------------------------- */

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

static cairo_surface_t *pdf_surface_new(
	const struct drawing *drawing, struct sink *sink, double *scale)
{
	cairo_surface_t *surface = cairo_pdf_surface_create_for_stream(sink_write, sink,
		drawing->scene.width_px * POINTS, drawing->scene.height_px * POINTS);

	set_metadata(surface, &drawing->style);
	*scale = POINTS;
	return surface;
}

static cairo_status_t pdf_surface_write(cairo_surface_t *surface, struct sink *sink)
{
	(void)sink;
	cairo_surface_finish(surface);
	return cairo_surface_status(surface);
}

int picture_write_pdf(const struct calltree *tree, const struct picture_options *options, FILE *out)
{
	return drawing_write(
		tree, options, &(struct drawing_format){pdf_surface_new, pdf_surface_write}, out);
}

/* ---- PNG ------------------------------------------------------------------------------------- */

/* cairo's image surfaces end here, a side. */
#define SIDE_MAX_PX 32767

static cairo_surface_t *png_surface_new(
	const struct drawing *drawing, struct sink *sink, double *scale)
{
	double width_px = drawing->scene.width_px, height_px = drawing->scene.height_px;
	double side_px = width_px > height_px ? width_px : height_px;

	(void)sink;
	*scale = 2 * side_px <= SIDE_MAX_PX ? 2 : 1;
	return cairo_image_surface_create(
		CAIRO_FORMAT_RGB24, (int)(width_px * *scale), (int)(height_px * *scale));
}

static cairo_status_t png_surface_write(cairo_surface_t *surface, struct sink *sink)
{
	return cairo_surface_write_to_png_stream(surface, sink_write, sink);
}

int picture_write_png(const struct calltree *tree, const struct picture_options *options, FILE *out)
{
	return drawing_write(
		tree, options, &(struct drawing_format){png_surface_new, png_surface_write}, out);
}
