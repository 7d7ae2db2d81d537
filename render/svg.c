/* SPDX-License-Identifier: MIT */
/*
 * Write the picture as SVG with three layers: the call tree as data, the viewer, and cairo's static
 * picture. The script that starts the viewer comes before the static picture, so that the viewer
 * can hide the picture before the browser lays it out.
 *
 * From cairo's document only the part between the first <svg> tag and the last </svg> is used,
 * because only these two are the same in all versions of cairo. put_body() removes one number from
 * it, and render/svg_clean.h style attributes and superfluous digits.
 *
 * Text as outlines needs no font and looks the same everywhere, but each glyph costs 60 bytes and,
 * even if the viewer hides it, 25 to 55 microseconds of a browser's time. Pictures with more than
 * GLYPHS_MAX glyphs (30 milliseconds) therefore use <text> for all their text.
 */
#include <cairo-svg.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libprof/fnv.h"
#include "render/bytes.h"
#include "render/drawing.h"
#include "render/embed.h"
#include "render/svg_clean.h"
#include "render/viewer.h"

#define GLYPHS_MAX 700u
#define NOTE	   "Open this file in a browser to zoom, search and read every frame."

static cairo_status_t collect(void *closure, const unsigned char *data, unsigned int length)
{
	struct bytes *bytes = closure;

	bytes_put(bytes, data, length);
	return bytes->error ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

static int draw(const struct scene *scene, enum draw_text text, struct bytes *drawn)
{
	cairo_surface_t *surface = cairo_svg_surface_create_for_stream(
		collect, drawn, scene->width_px, scene->height_px);

	if (cairo_surface_status(surface) == CAIRO_STATUS_SUCCESS)
		cairo_svg_surface_set_document_unit(surface, CAIRO_SVG_UNIT_PX);
	int error = draw_scene(scene, surface, 1, text);

	cairo_surface_finish(surface);
	if (!error)
		error = font_cairo_error(cairo_surface_status(surface));
	cairo_surface_destroy(surface);
	bytes_put(drawn, "", 1);
	return error ? error : drawn->error;
}

/* Append a <text>. Texts with the same y coordinate share a <g>, which has the coordinate. */
static void put_text(
	struct bytes *bytes, const struct scene_text *line, const struct scene_text *before)
{
	char text[64];

	if (!before || before->y != line->y) {
		snprintf(text, sizeof(text), "%s<g transform=\"translate(0 %g)\">",
			before ? "</g>\n" : "", line->y);
		bytes_text(bytes, text);
	}
	snprintf(text, sizeof(text), "<text x=\"%g\">", line->x);
	bytes_text(bytes, text);
	bytes_xml(bytes, line->text);
	bytes_text(bytes, "</text>");
}

/* Append all texts as <text> elements, grouped by role; a role's <g> has its style. */
static void put_texts(struct bytes *bytes, const struct scene *scene)
{
	char text[320];

	for (unsigned role = 0; role < FONT_ROLES; role++) {
		const struct font_style *style = &scene->style->fonts[role];
		const struct scene_text *before = NULL;

		snprintf(text, sizeof(text),
			"<g font-family=\"%s\" font-size=\"%.4g\" fill=\"#%06x\"%s>\n",
			scene->style->css_family, style->size_px, style->ink,
			style->bold ? " font-weight=\"bold\"" : "");
		bytes_text(bytes, text);
		for (uint32_t i = 0; i < scene->text_count; i++) {
			if (scene->texts[i].role != role)
				continue;
			put_text(bytes, &scene->texts[i], before);
			before = &scene->texts[i];
		}
		bytes_text(bytes, before ? "</g>\n</g>\n" : "</g>\n");
	}
}

static void put_clean(struct bytes *bytes, const char *text)
{
	char clean[LABEL_BYTES];

	label_clean(clean, sizeof(clean), text);
	bytes_xml(bytes, clean);
}

/* Append the title for the browser's tab and the description for screen readers. */
static void put_head(struct bytes *bytes, const struct style *style)
{
	bytes_text(bytes, "\n<title id=\"flamerun-title\">");
	put_clean(bytes, style->title);
	bytes_text(bytes, "</title>\n<desc id=\"flamerun-desc\">");
	put_clean(bytes, style->subtitle);
	bytes_text(bytes, "</desc>\n");
}

static void put_viewer(struct bytes *bytes)
{
	static const char head[] = "<!-- flamerun " FLAMERUN_VERSION ", MIT license -->\n"
				   "<metadata id=\"flamerun-viewer\">\n";

	bytes_text(bytes, head);
	bytes_put(bytes, viewer_text, (size_t)(viewer_text_end - viewer_text));
	bytes_text(bytes, "</metadata>\n<script><![CDATA[");
	bytes_put(bytes, viewer_loader, (size_t)(viewer_loader_end - viewer_loader));
	bytes_text(bytes, "]]></script>\n");
}

static int write_out(struct bytes *bytes, FILE *out)
{
	int error = bytes->error;

	errno = 0;
	if (!error && fwrite(bytes->data, 1, bytes->used, out) != bytes->used)
		error = errno ? -errno : -EIO;
	bytes->used = 0;
	return error;
}

static const char *last_end_tag(const char *text)
{
	const char *found = NULL;

	for (const char *at = text; (at = strstr(at, "</svg>")); at++)
		found = at;
	return found;
}

/*
 * Make a prefix for the names of glyphs from a hash of the drawing: equal pictures get equal names,
 * and two pictures in one page hardly ever have equal names.
 */
static void name_glyphs(char name[6], const char *body, const char *end)
{
	uint64_t hash = fnv_bytes(FNV_BEGIN, body, (size_t)(end - body));

	for (unsigned i = 0; i < 5; i++, hash /= 26)
		name[i] = (char)('a' + hash % 26);
	name[5] = '\0';
}

/*
 * Append cairo's drawing. cairo numbers its outermost group by a counter of the process, so equal
 * pictures would differ; remove this number.
 */
static void put_body(struct bytes *bytes, const char *body, const char *end)
{
	static const char name[] = "<g id=\"surface";
	const char *found = strstr(body, name), *before = body;
	char glyphs[6];

	if (found && found < end) {
		found += sizeof(name) - 1;
		body = found + strspn(found, "0123456789");
	} else {
		found = body;
	}
	name_glyphs(glyphs, body, end);
	svg_clean_put(bytes, before, found, glyphs);
	svg_clean_put(bytes, body, end, glyphs);
}

/* Positions in cairo's document that do not depend on cairo's version. */
struct drawn {
	const char *open_end; /* the > of the first tag */
	const char *close;    /* the last </svg> */
};

static int cut(const char *document, struct drawn *drawn)
{
	const char *start = strstr(document, "<svg");

	drawn->open_end = start ? strchr(start, '>') : NULL;
	drawn->close = drawn->open_end ? last_end_tag(drawn->open_end) : NULL;
	return drawn->close ? 0 : -EIO;
}

static void put_static(
	struct bytes *bytes, const struct scene *scene, const struct drawn *drawn, int native)
{
	bytes_text(bytes, "<g id=\"flamerun-static\">");
	put_body(bytes, drawn->open_end + 1, drawn->close);
	if (native)
		put_texts(bytes, scene);
	bytes_text(bytes, "</g>\n</svg>\n");
}

/* Write the data of all stacks; the static picture may show only a part of them. */
static int write_data(const struct drawing *drawing, const struct calltree *tree, FILE *out)
{
	const struct picture_options *options = drawing->style.options;
	struct preorder preorder;
	struct style style;
	int error;

	if (!options->everything)
		return embed_write(tree, &drawing->preorder, &drawing->style, out);
	error = style_init(&style, options, options->everything);
	if (error)
		return error;
	error = preorder_init(&preorder, options->everything);
	if (!error) {
		error = embed_write(options->everything, &preorder, &style, out);
		preorder_release(&preorder);
	}
	style_release(&style);
	return error;
}

/* Write data, viewer and static picture. @document is cairo's SVG, NUL-terminated. */
static int write_layers(const struct drawing *drawing, const struct calltree *tree,
	const char *document, int native, FILE *out)
{
	struct bytes bytes = {0};
	struct drawn drawn;
	int error = cut(document, &drawn);

	if (error)
		return error;
	bytes_put(&bytes, document, (size_t)(drawn.open_end - document));
	/* No aria-labelledby: in a page with several pictures the id would be the first one's. */
	bytes_text(&bytes, " role=\"img\">");
	put_head(&bytes, &drawing->style);
	error = write_out(&bytes, out);
	if (!error)
		error = write_data(drawing, tree, out);
	put_viewer(&bytes);
	put_static(&bytes, &drawing->scene, &drawn, native);
	if (!error)
		error = write_out(&bytes, out);
	bytes_release(&bytes);
	return error;
}

int picture_write_svg(const struct calltree *tree, const struct picture_options *options, FILE *out)
{
	struct drawing drawing;
	struct bytes document = {0};
	int error = drawing_init(&drawing, tree, options, NOTE);

	if (error)
		return error;
	int native = drawing.scene.glyphs > GLYPHS_MAX;

	error = draw(&drawing.scene, native ? DRAW_NO_TEXT : DRAW_TEXT, &document);
	if (!error)
		error = write_layers(&drawing, tree, (const char *)document.data, native, out);
	bytes_release(&document);
	drawing_release(&drawing);
	return error;
}
