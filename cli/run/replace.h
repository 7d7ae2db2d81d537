/* SPDX-License-Identifier: MIT */
/*
 * Replacing one regular file: written beside it under another name, then renamed over it. At most
 * one replacement is under way. How a path leads to the file is libprof/follow_links.h.
 */
#ifndef CLI_RUN_REPLACE_H
#define CLI_RUN_REPLACE_H

#include <stdio.h>

#include "libprof/follow_links.h"

/* Writes one file's content to @file. Returns 0 or -errno. */
typedef int (*replace_writer)(void *context, FILE *file);

/* Can a file be made beside @target? It is gone again when this returns. Returns 0 or -errno. */
int replace_prove(const struct followed *target);

/* Call @writer with a stream on @descriptor, which stays open. Returns 0 or -errno. */
int replace_fill(int descriptor, replace_writer writer, void *context);

/*
 * Write @target anew: see outputs_write() for modes. What a rename cannot replace is overwritten
 * once the content is complete.
 * Returns 0, -FOLLOW_ANOTHERS or -errno; @target is then what it was, unless overwriting it failed.
 */
int replace_write(const struct followed *target, replace_writer writer, void *context);

/*
 * Remove the half-written file, if there is one right now.
 * Context: signal-safe; the process ends after it.
 */
void replace_abandon(void);

#endif
