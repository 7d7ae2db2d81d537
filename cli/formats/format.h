/* SPDX-License-Identifier: MIT */
/* The formats in which a call tree can be written, and the selection of a format by a file name. */
#ifndef CLI_FORMATS_FORMAT_H
#define CLI_FORMATS_FORMAT_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/diag.h"
#include "render/calltree.h"
#include "render/picture.h"

/*
 * The table of formats. A row has the extension with its dot, the function `write` of struct
 * format, and whether `flamerun render` can read stacks from such a file (cli/formats/input.c). If
 * it can, a run need not save its stacks when writing a picture fails. The first row that fits a
 * name is used, so ".speedscope.json" is before ".json".
 */
#define FORMATS(FIRST, NEXT, WRAP)                       \
	FIRST(".svg", picture_write_svg, true)           \
	NEXT(".png", picture_write_png, false)           \
	NEXT(".pdf", picture_write_pdf, false)           \
	NEXT(".folded", write_folded, true)              \
	NEXT(".pb.gz", pprof_write_gz, true)             \
	NEXT(".pb", pprof_write, true)                   \
	NEXT(".pgo", pprof_write_gz, true)               \
	WRAP(".speedscope.json", speedscope_write, true) \
	NEXT(".firefox.json", firefox_write, false)      \
	NEXT(".json", report_write_json, false)          \
	NEXT(".md", report_write_markdown, false)

/* All extensions with blanks between them, for messages; in --help, a new line begins at WRAP. */
#define FORMAT_FIRST_(extension, write, has_stacks) extension
#define FORMAT_NEXT_(extension, write, has_stacks)  " " extension
#define FORMAT_WRAP_(extension, write, has_stacks)  "\n" extension
#define FORMAT_EXTENSIONS      FORMATS(FORMAT_FIRST_, FORMAT_NEXT_, FORMAT_NEXT_)
#define FORMAT_EXTENSIONS_HELP FORMATS(FORMAT_FIRST_, FORMAT_NEXT_, FORMAT_WRAP_)

struct format {
	const char *extension;
	/* Writes @tree (finished) to @out. Returns 0 or -errno. */
	int (*write)(const struct calltree *tree, const struct picture_options *options, FILE *out);
	bool has_stacks;
};

/* Returns the formats' names: "svg", ..., and NULL at the end. */
const char *const *format_names(void);

/* Returns the format of @path's extension, or NULL. */
const struct format *format_by_ending(const char *path);

/*
 * Returns the format to write @path in: that of its extension, else the one called @otherwise, else
 * SVG if @path is in /dev or /proc, where names have no extension. Returns NULL if none of these
 * applies.
 */
const struct format *format_of(const char *path, const char *otherwise);

/* Fill @message: the format of @path is unknown. Returns -EINVAL. */
int format_unknown(const char *path, struct diag_message *message);

bool format_is_svg(const struct format *format);
bool format_is_picture(const struct format *format); /* SVG, PNG or PDF */
bool format_is_folded(const struct format *format);
bool format_is_pprof(const struct format *format);
bool format_is_speedscope(const struct format *format);
bool format_is_json(const struct format *format); /* run.json, the report */

#endif
