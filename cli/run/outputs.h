/* SPDX-License-Identifier: MIT */
/*
 * Write a command's output files. Before the program starts, check that each file can be written.
 * At the end, replace each file by a rename when the new file is complete, so that no file is ever
 * half-written. Functions of the caller write the content.
 *
 * Between outputs_open() and outputs_write() flamerun has no temporary file in any folder, so that
 * the profiled program sees the files that it would see without flamerun.
 */
#ifndef CLI_RUN_OUTPUTS_H
#define CLI_RUN_OUTPUTS_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/diag.h"

/* A function that writes the content of a file to @file. Returns 0 or -errno. */
typedef int (*outputs_writer)(void *context, FILE *file);

struct outputs;

/*
 * Check that each of the @count @paths (strings borrowed until outputs_free()) can be written.
 * Symbolic links are followed: the link stays, and its target is replaced. A path that is not a
 * regular file (a FIFO, /dev/null, /dev/fd/N), or is a writable file in a folder that is not
 * writable, is opened now and later written directly. Returns 0 with an owned object in *@out, or
 * -errno with @message filled.
 */
int outputs_open(struct outputs **out, const char *const *paths, unsigned count,
	struct diag_message *message);

/* Change the path of output @index to @path (borrowed), which is in the same folder. */
void outputs_rename(struct outputs *outputs, unsigned index, const char *path);

/* Is output @index, once it is written, a regular file? */
bool outputs_is_file(const struct outputs *outputs, unsigned index);

/* Close all open outputs. NULL is fine. */
void outputs_free(struct outputs *outputs);

/*
 * Write output @index by calling @writer once. A new file gets the mode that the umask leaves. A
 * replaced file keeps its mode, and its owner if permitted. Returns 0, or -errno with @message
 * filled; the regular file that was to be replaced is then unchanged.
 */
int outputs_write(struct outputs *outputs, unsigned index, outputs_writer writer, void *context,
	struct diag_message *message);

/* Call @writer with a stream on @descriptor. @descriptor stays open. Returns 0 or -errno. */
int outputs_fill(int descriptor, outputs_writer writer, void *context);

/* Remove the temporary file if one exists. Context: signal-safe; the process must then end. */
void outputs_abandon(void);

#endif
