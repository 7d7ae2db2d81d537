/* SPDX-License-Identifier: MIT */
/*
 * Find libflameprof.so.1, by a path that LD_PRELOAD can contain.
 */
#ifndef CLI_RUN_LIBRARY_H
#define CLI_RUN_LIBRARY_H

#include <limits.h>

#include "cli/diag.h"

struct library {
	char path[PATH_MAX]; /* for LD_PRELOAD */
};

/*
 * Find the library in @folder (that of flamerun), in @folder/../lib, or in the folder that flamerun
 * was built for. ld.so splits LD_PRELOAD at blanks and colons and expands '$', so for a path with
 * one of these a symbolic link is made in a private folder, which library_abandon() removes.
 * Returns 0, or -errno with @message filled.
 */
int library_find(struct library *library, const char *folder, struct diag_message *message);

/* Write the folder of the running program to @folder. Returns 0, or -errno with @message filled. */
int library_program_folder(char folder[PATH_MAX], struct diag_message *message);

/* Remove the link, if one was made. Context: signal-safe. */
void library_abandon(void);

#endif
