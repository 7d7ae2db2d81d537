/* SPDX-License-Identifier: MIT */
/*
 * The files a command writes: proven writable before anything starts, replaced by rename when they
 * are complete, never half-written. What goes into them is not known here.
 *
 * Between outputs_open() and outputs_write() nothing of ours lies in a directory: a program that is
 * being profiled sees the files it would see without flamerun.
 */
#ifndef CLI_RUN_OUTPUTS_H
#define CLI_RUN_OUTPUTS_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/diag.h"

/* Writes one file's content to @file. Returns 0 or -errno. */
typedef int (*outputs_writer)(void *context, FILE *file);

struct outputs;

/*
 * Prove that each of @paths (@count of them, strings borrowed for the life of the object) can be
 * written. Symbolic links are followed: the link stays, its target is replaced. What is no regular
 * file (a FIFO, /dev/null, /dev/fd/N) is opened now and written in place; a file that can be
 * written in a directory that cannot is written in place, too.
 *
 * Returns 0 and an owned object in *@out, or -errno with @message filled.
 */
int outputs_open(struct outputs **out, const char *const *paths, unsigned count,
	struct diag_message *message);

/*
 * The name of output @index is known in full only now: write it to @path (borrowed) instead, which
 * lies in the same folder.
 */
void outputs_rename(struct outputs *outputs, unsigned index, const char *path);

/* Is output @index, once it is written, a file that stays? */
bool outputs_is_file(const struct outputs *outputs, unsigned index);

/* Close what is still open. NULL is fine. */
void outputs_free(struct outputs *outputs);

/*
 * Write the output number @index by calling @writer once. A new file gets the mode the umask leaves
 * it, a replaced one keeps its mode, and its owner where that is permitted.
 *
 * Returns 0, or -errno with @message filled; a regular file that was to be replaced is then still
 * what it was.
 */
int outputs_write(struct outputs *outputs, unsigned index, outputs_writer writer, void *context,
	struct diag_message *message);

/* Call @writer with a stream on @descriptor, which stays open. Returns 0 or -errno. */
int outputs_fill(int descriptor, outputs_writer writer, void *context);

/*
 * Remove the half-written file, if there is one right now.
 * Context: signal-safe; the process ends after it.
 */
void outputs_abandon(void);

#endif
