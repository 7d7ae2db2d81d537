/* SPDX-License-Identifier: MIT */
/*
 * The picture as SVG, three layers in one file: what cairo drew, the call tree as data, the script
 * that takes over in a browser. cairo's own output is cut only at the end of its first <svg> tag
 * and at its last </svg>: between them its versions differ. One number is dropped there, see
 * put_body(), and the others are said shorter, see render/svg_paths.h.
 *
 * Text: outlines need no font and look the same everywhere, but each glyph is an element that costs
 * a browser 25 to 55 microseconds to load: GLYPHS_MAX of them a tenth of a second. A picture that
 * needs no more has outlines; otherwise all its text is native, so that one picture has one look.
 */
#include <cairo-svg.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "render/bytes.h"
#include "render/draw.h"
#include "render/embed.h"
#include "render/picture.h"
#include "render/scene.h"
#include "render/svg_paths.h"
#include "render/viewer.h"

#define GLYPHS_MAX 2000u
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

/* One line of text; all of a row are in one group, so that its height is said once. */
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

/* Native text: one group per role, so that its style is said once. */
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

/* What a screen reader says and a browser's tab shows, and the viewer's style. */
static void put_head(struct bytes *bytes, const struct style *style)
{
	bytes_text(bytes, "\n<title id=\"flamerun-title\">");
	put_clean(bytes, style->title);
	bytes_text(bytes, "</title>\n<desc id=\"flamerun-desc\">");
	put_clean(bytes, style->subtitle);
	bytes_text(bytes, "</desc>\n<style id=\"flamerun-style\"><![CDATA[\n");
	bytes_put(bytes, viewer_style, (size_t)(viewer_style_end - viewer_style));
	bytes_text(bytes, "]]></style>\n<g id=\"flamerun-static\">");
}

static void put_script(struct bytes *bytes)
{
	bytes_text(bytes, "<script><![CDATA[\n// flamerun's viewer, MIT license\n(function () {\n"
			  "'use strict';\n");
	bytes_put(bytes, viewer_script, (size_t)(viewer_script_end - viewer_script));
	bytes_text(bytes, "})();\n]]></script>\n</svg>\n");
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
 * What cairo drew. It names its outermost group after a counter of the whole process, which would
 * make the second of two equal pictures differ: the number is left out.
 */
static void put_body(struct bytes *bytes, const char *body, const char *end)
{
	static const char name[] = "<g id=\"surface";
	const char *found = strstr(body, name);

	if (found && found < end) {
		found += sizeof(name) - 1;
		svg_paths_put(bytes, body, found);
		body = found + strspn(found, "0123456789");
	}
	svg_paths_put(bytes, body, end);
}

/* @drawn: cairo's document, NUL-terminated. */
static int assemble(const struct scene *scene, const char *drawn, int native, struct bytes *bytes)
{
	const char *start = strstr(drawn, "<svg");
	const char *body = start ? strchr(start, '>') : NULL;
	const char *end = body ? last_end_tag(body) : NULL;

	if (!end)
		return -EIO;
	bytes_put(bytes, drawn, (size_t)(body - drawn));
	bytes_text(bytes, " role=\"img\" aria-labelledby=\"flamerun-title\" "
			  "aria-describedby=\"flamerun-desc\">");
	put_head(bytes, scene->style);
	put_body(bytes, body + 1, end);
	if (native)
		put_texts(bytes, scene);
	bytes_text(bytes, "</g>\n");
	return bytes->error;
}

int picture_write_svg(const struct calltree *tree, const struct picture_options *options, FILE *out)
{
	struct preorder preorder = {0};
	struct style style;
	struct scene scene = {0};
	struct bytes drawn = {0}, bytes = {0};
	int error = style_init(&style, options, tree);

	if (error)
		return error;
	error = preorder_init(&preorder, tree);
	if (!error)
		error = scene_init(&scene, tree, &preorder, &style, NOTE);
	if (error)
		goto out;
	int native = scene.glyphs > GLYPHS_MAX;

	error = draw(&scene, native ? DRAW_NO_TEXT : DRAW_TEXT, &drawn);
	if (!error)
		error = assemble(&scene, (const char *)drawn.data, native, &bytes);
	if (!error)
		error = write_out(&bytes, out);
	if (!error)
		error = embed_write(tree, &preorder, &style, out);
	put_script(&bytes);
	if (!error)
		error = write_out(&bytes, out);
out:
	bytes_release(&drawn);
	bytes_release(&bytes);
	scene_release(&scene);
	preorder_release(&preorder);
	style_release(&style);
	return error;
}
