/* SPDX-License-Identifier: MIT */
/*
 * Write files for the Firefox Profiler (https://profiler.firefox.com), in its processed format.
 *   Format: https://github.com/firefox-devtools/profiler/blob/main/docs-developer/
 *   CHANGELOG-formats.md, and src/types/profile.ts there
 *
 * Context: one thread.
 */
#ifndef CLI_FORMATS_FIREFOX_H
#define CLI_FORMATS_FIREFOX_H

#include <stdio.h>

#include "render/calltree.h"
#include "render/picture.h"

/* Version of the files written. The profiler converts older versions when it loads them. */
#define FIREFOX_VERSION 61

/*
 * Write options->fine, or @tree if that is NULL; the tree is finished. Only the kinds of time that
 * the picture draws are written. Each thread is a track, with samples at their times or, if these
 * are unknown, one after the other. Frames have lines but no addresses; modules become resources
 * without files. Returns 0, -errno of @out, or -ENOMEM.
 */
int firefox_write(
	const struct calltree *tree, const struct picture_options *options, FILE *out);

#endif
