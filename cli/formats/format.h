/* SPDX-License-Identifier: MIT */
/*
 * The formats a call tree can be written in, and which one a file's name asks for.
 */
#ifndef CLI_FORMATS_FORMAT_H
#define CLI_FORMATS_FORMAT_H

#include <stdio.h>

#include "render/calltree.h"
#include "render/picture.h"

/* All extensions, for messages and --help. */
#define FORMAT_EXTENSIONS ".svg .png .folded"

struct format {
	const char *extension; /* with its dot */
	/* Write @tree (finished) to @out. Returns 0 or -errno. */
	int (*write)(const struct calltree *tree, const struct picture_options *options, FILE *out);
};

/*
 * The format that the name @path asks for by its extension. Names of devices cannot carry one:
 * anything without a known extension in /dev or /proc is SVG.
 * Returns NULL when the extension is none of FORMAT_EXTENSIONS.
 */
const struct format *format_of(const char *path);

#endif
