/* SPDX-License-Identifier: MIT */
/*
 * Read and write files of speedscope (https://www.speedscope.app), a viewer of threads over time.
 * Many profilers write this format. Format:
 * https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources
 *
 * Context: one thread.
 */
#ifndef CLI_FORMATS_SPEEDSCOPE_H
#define CLI_FORMATS_SPEEDSCOPE_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/diag.h"
#include "cli/formats/facts.h"
#include "render/bytes.h"
#include "render/calltree.h"
#include "render/picture.h"

/*
 * Write options->fine, or @tree if that is NULL; the tree is finished. Only the kinds of time that
 * the picture draws are written: a profile per thread, and one for weight without a thread. A
 * function has the file and line with most of its weight; if the line is unknown, its file is the
 * module. Returns 0, -errno of @out, or -ENOMEM.
 */
int speedscope_write(
	const struct calltree *tree, const struct picture_options *options, FILE *out);

/* Maximum numbers of functions, of profiles, and of functions in one stack. */
#define SPEEDSCOPE_FRAMES_MAX	(1u << 23)
#define SPEEDSCOPE_PROFILES_MAX (1u << 20)
#define SPEEDSCOPE_DEPTH_MAX	65536u
/* Longer names are cut. */
#define SPEEDSCOPE_NAME_BYTES 4096u

/* First byte of such files; a folded stack may begin with it, too. */
#define SPEEDSCOPE_FIRST '{'

/* Is @file in this format? Needs the whole file. */
bool speedscope_is(const struct bytes *file);

/*
 * Add the profiles of @file to @tree (not finished here), each as a thread. Samples have times, in
 * nanoseconds if the profile counts time. Samples without a frame are idle and skipped. @unit
 * selects the profiles; NULL: the unit of the profile that speedscope shows first. Returns 0 and
 * *@facts, or -errno with @message filled: -EBADMSG with the damage and its offset, -EINVAL if no
 * profile has the unit, -ENOMEM. The caller must release @facts in both cases.
 */
int speedscope_read(struct calltree *tree, const struct bytes *file, const char *name,
	const char *unit, struct input_facts *facts, struct diag_message *message);

#endif
