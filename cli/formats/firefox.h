/* SPDX-License-Identifier: MIT */
/*
 * Files for the Firefox Profiler (https://profiler.firefox.com), in its processed format.
 * Format: https://github.com/firefox-devtools/profiler/blob/main/docs-developer/
 * CHANGELOG-formats.md, and src/types/profile.ts there
 *
 * Context: one thread.
 */
#ifndef CLI_FORMATS_FIREFOX_H
#define CLI_FORMATS_FIREFOX_H

#include <stdio.h>

#include "render/calltree.h"
#include "render/picture.h"

/* What is written: the profiler brings files of older versions up to date when it reads them. */
#define FIREFOX_VERSION 61

/*
 * Write options->fine, or without it @tree (finished), of the times that are drawn: a track for
 * each thread, samples at their times where these are known, else one behind the other. Frames have
 * the lines they were sampled at and no addresses; modules are resources without files.
 * Returns 0, or -errno of @out, or -ENOMEM.
 */
int firefox_write(
	const struct calltree *tree, const struct picture_options *options, FILE *out);

#endif
