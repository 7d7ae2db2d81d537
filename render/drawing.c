/* SPDX-License-Identifier: MIT */
/*
 * Draw a scene with cairo, and write PDF and PNG. A PDF is one page as large as the picture, whose
 * text can be selected. A PNG has two device pixels per CSS pixel if it fits, for screens of high
 * density.
 *
 * All boxes of one colour are one path, in which a box is a line as thick as the box is high. An
 * SVG of such paths has a tenth of the elements and half the numbers of an SVG of rectangles, and
 * the same pixels.
 */
#include "render/drawing.h"

#include <cairo-pdf.h>
#include <errno.h>
#include <time.h>

#include "render/label.h"
#include "render/palette.h"

/* ---- a scene on a surface -------------------------------------------------------------------- */

static void set_ink(cairo_t *cairo, uint32_t ink)
{
	cairo_set_source_rgb(
		cairo, (ink >> 16) / 255.0, (ink >> 8 & 255) / 255.0, (ink & 255) / 255.0);
}

static void stroke_boxes(const struct scene *scene, cairo_t *cairo)
{
	const struct palette *palette = &scene->style->palette;
	int dark = scene->style->options->ground == PICTURE_DARK;

	cairo_set_line_cap(cairo, CAIRO_LINE_CAP_BUTT);
	for (unsigned color_index = 0; color_index < palette_size(palette); color_index++) {
		struct palette_color color = palette_at(palette, color_index, dark);
		double height = 0;

		cairo_set_source_rgb(
			cairo, color.red / 255.0, color.green / 255.0, color.blue / 255.0);
		for (uint32_t i = 0; i < scene->box_count; i++) {
			const struct scene_box *box = &scene->boxes[i];
			double middle = box->y + box->height / 2;

			if (box->color_index != color_index)
				continue;
			if (box->height != height)
				cairo_stroke(cairo);
			height = box->height;
			cairo_set_line_width(cairo, height);
			cairo_move_to(cairo, box->x, middle);
			cairo_line_to(cairo, box->x + box->width, middle);
		}
		cairo_stroke(cairo);
	}
}

/* The dashed line at the edge between an inlined box and its parent: lengths and opacity. */
#define DASH_PX	   3.0
#define DASH_GAP_PX 2.0
#define DASH_ALPHA 0.6

static void dash_inlined(const struct scene *scene, cairo_t *cairo)
{
	const struct picture_options *options = scene->style->options;
	uint32_t ink = scene->style->fonts[FONT_LABEL].ink;
	/* In an icicle the caller is above its callee, except in a reversed picture. */
	int is_above = (options->direction == PICTURE_ICICLE) != (options->is_reversed != 0);

	cairo_save(cairo);
	cairo_set_source_rgba(cairo, (ink >> 16) / 255.0, (ink >> 8 & 255) / 255.0,
		(ink & 255) / 255.0, DASH_ALPHA);
	cairo_set_line_width(cairo, 1);
	cairo_set_dash(cairo, (const double[]){DASH_PX, DASH_GAP_PX}, 2, 0);
	for (uint32_t i = 0; i < scene->box_count; i++) {
		const struct scene_box *box = &scene->boxes[i];
		double y = is_above ? box->y + 0.5 : box->y + box->height - 0.5;

		if (!box->is_inlined)
			continue;
		cairo_move_to(cairo, box->x, y);
		cairo_line_to(cairo, box->x + box->width, y);
	}
	cairo_stroke(cairo);
	cairo_restore(cairo);
}

static void show_texts(const struct scene *scene, cairo_t *cairo)
{
	for (unsigned role = 0; role < FONT_ROLES; role++) {
		const struct font_style *style = &scene->style->fonts[role];

		set_ink(cairo, style->ink);
		/*
		 * Set face, size and options one by one: cairo_set_scaled_font() would also set the
		 * scale of the surface for which the font was measured.
		 */
		cairo_font_options_t *options = cairo_font_options_create();

		cairo_scaled_font_get_font_options(scene->fonts[role].scaled, options);
		cairo_set_font_face(
			cairo, cairo_scaled_font_get_font_face(scene->fonts[role].scaled));
		cairo_set_font_size(cairo, style->size_px);
		cairo_set_font_options(cairo, options);
		cairo_font_options_destroy(options);
		for (uint32_t i = 0; i < scene->text_count; i++) {
			if (scene->texts[i].role != role)
				continue;
			cairo_move_to(cairo, scene->texts[i].x, scene->texts[i].y);
			cairo_show_text(cairo, scene->texts[i].text);
		}
	}
}

int draw_scene(
	const struct scene *scene, cairo_surface_t *surface, double scale, enum draw_text text)
{
	cairo_t *cairo = cairo_create(surface);

	cairo_scale(cairo, scale, scale);
	set_ink(cairo, scene->style->ground);
	cairo_paint(cairo);
	stroke_boxes(scene, cairo);
	dash_inlined(scene, cairo);
	if (text == DRAW_TEXT)
		show_texts(scene, cairo);
	int error = font_cairo_error(cairo_status(cairo));

	cairo_destroy(cairo);
	return error;
}

/*
 * ---- cairo's output streams -------------------------------------------------------------------
 */

/* The closure of a cairo output stream: the file and the first error. */
struct sink {
	FILE *out; /* borrowed */
	int error; /* 0 or -errno of @out */
};

static cairo_status_t sink_write(void *closure, const unsigned char *bytes, unsigned int length)
{
	struct sink *sink = closure;

	errno = 0;
	if (fwrite(bytes, 1, length, sink->out) == length)
		return CAIRO_STATUS_SUCCESS;
	if (!sink->error)
		sink->error = errno ? -errno : -EIO;
	return CAIRO_STATUS_WRITE_ERROR;
}

/* ---- from a tree to a stream ----------------------------------------------------------------- */

struct drawing_format {
	/*
	 * Returns a new surface for @drawing, owned by the caller; the surface may write to @sink.
	 * Sets *@scale to the surface's units per CSS pixel.
	 */
	cairo_surface_t *(*surface_new)(
		const struct drawing *drawing, struct sink *sink, double *scale);
	/* Finish the surface and write it to @sink. */
	cairo_status_t (*surface_write)(cairo_surface_t *surface, struct sink *sink);
};

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

/* Write @tree as @format. Parameters and results are those of picture_write_png(). */
static int drawing_write(const struct calltree *tree, const struct picture_options *options,
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
	/* Prefer the stream's errno, because cairo only reports that a write failed. */
	if (sink.error)
		error = sink.error;
	drawing_release(&drawing);
	return error;
}

/* ---- PDF ------------------------------------------------------------------------------------- */

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
	/*
	 * Always set the creation date, if need be to NULL (no date): otherwise cairo writes the
	 * current time, and equal pictures would differ.
	 */
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

/* cairo cannot make image surfaces with longer sides. */
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
