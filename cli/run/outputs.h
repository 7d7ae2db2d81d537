/* SPDX-License-Identifier: MIT */
/*
 * Write a command's output files. Before the program starts, check that each can be written; at the
 * end replace each by rename when it is complete, so no file is ever half-written. The content is
 * written by the caller's functions.
 *
 * Between outputs_open() and outputs_write() flamerun has no file in any folder, so that the
 * profiled program sees the files that it would see without flamerun.
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
 * Check that each of the @count @paths (strings borrowed until outputs_free()) can be written.
 * Symbolic links are followed: the link stays, its target is replaced. A path that is no regular
 * file (a FIFO, /dev/null, /dev/fd/N) is opened now and written in place. So is a writable file in
 * a folder that is not writable. Returns 0 with an owned object in *@out, or -errno with @message
 * filled.
 */
int outputs_open(struct outputs **out, const char *const *paths, unsigned count,
	struct diag_message *message);

/*
 * Write output @index to @path (borrowed) instead, in the same folder, now that its name is known.
 */
void outputs_rename(struct outputs *outputs, unsigned index, const char *path);

/* Is output @index, once written, a regular file? */
bool outputs_is_file(const struct outputs *outputs, unsigned index);

/* Close what is still open. NULL is fine. */
void outputs_free(struct outputs *outputs);

/*
 * Write output @index by calling @writer once. A new file gets the mode that the umask leaves. A
 * replaced file keeps its mode, and its owner if permitted. Returns 0, or -errno with @message
 * filled; a regular file that was to be replaced is then unchanged.
 */
int outputs_write(struct outputs *outputs, unsigned index, outputs_writer writer, void *context,
	struct diag_message *message);

/* Call @writer with a stream on @descriptor, which stays open. Returns 0 or -errno. */
int outputs_fill(int descriptor, outputs_writer writer, void *context);

/* Remove the temporary file, if there is one. Context: signal-safe; the process must then end. */
void outputs_abandon(void);

#endif
