/* SPDX-License-Identifier: MIT */
/*
 * The formats a call tree can be written in, and which one a file's name asks for.
 */
#ifndef CLI_FORMATS_FORMAT_H
#define CLI_FORMATS_FORMAT_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/diag.h"
#include "render/calltree.h"
#include "render/picture.h"

/*
 * The table: a row is an extension with its dot (one that ends as another does stands before that),
 * the function of struct format, and whether `flamerun render` gets the stacks back from such a
 * file, as cli/formats/input.c reads it: then a run that wrote one need not save its stacks when a
 * picture fails.
 */
#define FORMATS(FIRST, NEXT, WRAP)                                                                 \
	FIRST(".svg", picture_write_svg, true)                                                    \
	NEXT(".png", picture_write_png, false)                                                     \
	NEXT(".pdf", picture_write_pdf, false)                                                     \
	NEXT(".folded", write_folded, true)                                                        \
	NEXT(".pb.gz", pprof_write_gz, true)                                                       \
	NEXT(".pb", pprof_write, true)                                                             \
	WRAP(".speedscope.json", speedscope_write, true)                                           \
	NEXT(".firefox.json", firefox_write, false)                                                \
	NEXT(".json", report_write_json, false)                                                    \
	NEXT(".md", report_write_markdown, false)

/* All extensions, blanks between, for messages; and for --help, which begins a line at WRAP. */
#define FORMAT_FIRST_(extension, write, has_stacks) extension
#define FORMAT_NEXT_(extension, write, has_stacks)  " " extension
#define FORMAT_WRAP_(extension, write, has_stacks)  "\n" extension
#define FORMAT_EXTENSIONS      FORMATS(FORMAT_FIRST_, FORMAT_NEXT_, FORMAT_NEXT_)
#define FORMAT_EXTENSIONS_HELP FORMATS(FORMAT_FIRST_, FORMAT_NEXT_, FORMAT_WRAP_)

struct format {
	const char *extension;
	/* Write @tree (finished) to @out. Returns 0 or -errno. */
	int (*write)(const struct calltree *tree, const struct picture_options *options, FILE *out);
	bool has_stacks;
};

/* What the formats are called: "svg", ..., NULL at the end. */
const char *const *format_names(void);

/* The format that the extension of @path is of, or NULL. */
const struct format *format_by_ending(const char *path);

/*
 * The format in which to write @path: the one its extension asks for; without a known one, the
 * format called @otherwise unless that is NULL. Names of devices cannot carry one: in /dev and
 * /proc it is then SVG.
 * Returns NULL when none of this tells.
 */
const struct format *format_of(const char *path, const char *otherwise);

/* Fill @message for a name that format_of() knows nothing of. Returns -EINVAL. */
int format_unknown(const char *path, struct diag_message *message);

bool format_is_svg(const struct format *format);
bool format_is_picture(const struct format *format); /* SVG, PNG or PDF */
bool format_is_folded(const struct format *format);
bool format_is_pprof(const struct format *format);
bool format_is_speedscope(const struct format *format);
bool format_is_json(const struct format *format); /* our tables */

#endif
