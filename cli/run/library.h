/* SPDX-License-Identifier: MIT */
/* Find libflameprof.so.1, and a path to it that LD_PRELOAD can contain. */
#ifndef CLI_RUN_LIBRARY_H
#define CLI_RUN_LIBRARY_H

#include <limits.h>

#include "cli/diag.h"

struct library {
	char path[PATH_MAX]; /* for LD_PRELOAD */
};

/*
 * Find the library in @folder (flamerun's), in @folder/../lib, or in the folder that was set when
 * flamerun was built. ld.so splits LD_PRELOAD at blanks and colons and expands '$'. If the path has
 * one of these, make a symbolic link in a private folder, which library_abandon() removes. Returns
 * 0, or -errno with @message filled.
 */
int library_find(struct library *library, const char *folder, struct diag_message *message);

/* Write the folder of the running program to @folder. Returns 0, or -errno with @message filled. */
int library_program_folder(char folder[PATH_MAX], struct diag_message *message);

/* Remove the symbolic link if one was made. Context: signal-safe. */
void library_abandon(void);

#endif
