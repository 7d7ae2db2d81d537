/* SPDX-License-Identifier: MIT */
/*
 * Files for speedscope (https://www.speedscope.app), in and out, which draws what each thread did
 * in order of time. Many profilers write them.
 * Format: https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources
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
 * Write options->fine, or without it @tree (finished), of the times that are drawn: a profile for
 * each thread, and one for what no thread is known of. Functions are whole, and have the file and
 * line where most of their weight passed; without a line their file is the module.
 * Returns 0, or -errno of @out, or -ENOMEM.
 */
int speedscope_write(
	const struct calltree *tree, const struct picture_options *options, FILE *out);

/* Of functions, of profiles, of the functions of one stack. */
#define SPEEDSCOPE_FRAMES_MAX	(1u << 23)
#define SPEEDSCOPE_PROFILES_MAX (1u << 20)
#define SPEEDSCOPE_DEPTH_MAX	65536u
/* Of a name; the rest is cut off. */
#define SPEEDSCOPE_NAME_BYTES 4096u

/* What such files and folded stacks of strange names begin with. */
#define SPEEDSCOPE_FIRST '{'

/* Is @file one? All of it tells. */
bool speedscope_is(const struct bytes *file);

/*
 * Add the profiles of @file to @tree (not finished by this), each as a thread, its samples with
 * their times, in nanoseconds where they count time. What has no frame is idle, and left out.
 *
 * @unit  of those that are taken, NULL: that of the one which speedscope shows first
 *
 * Returns 0 and *@facts; or -errno with @message filled: -EBADMSG with what is damaged and where,
 * -EINVAL for a unit that no profile has, -ENOMEM. @facts are to be released in any case.
 */
int speedscope_read(struct calltree *tree, const struct bytes *file, const char *name,
	const char *unit, struct input_facts *facts, struct diag_message *message);

#endif
