/* SPDX-License-Identifier: MIT */
/*
 * Where distributions and people put the symbols they strip: build-id folders and debug links, as
 * gdb's manual has them ("Debugging Information in Separate Files"), and what debuginfod's clients
 * have fetched. Never asks a network.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_DEBUGFILE_H
#define CLI_SYMBOLS_DEBUGFILE_H

#include "cli/symbols/elfimage.h"

/*
 * Find the debug file of @image, the module at @path as process @pid (0: we) sees it. A candidate
 * is taken when its build-id is the module's, or, where one of them has none, when its checksum is
 * the one in the debug link. Returns 0 and an image to be closed by the caller, or -ENOENT.
 */
int debugfile_open(
	struct elfimage *debug, const struct elfimage *image, const char *path, uint32_t pid);

#endif
