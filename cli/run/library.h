/* SPDX-License-Identifier: MIT */
/*
 * Where libflameprof.so.1 is, under a name that LD_PRELOAD can carry.
 */
#ifndef CLI_RUN_LIBRARY_H
#define CLI_RUN_LIBRARY_H

#include <limits.h>

#include "cli/diag.h"

struct library {
	char path[PATH_MAX]; /* for LD_PRELOAD */
};

/*
 * Find the library: in @folder (that of the flamerun program itself), in @folder/../lib, in the
 * folder flamerun was built for. ld.so splits LD_PRELOAD at blanks and colons and expands '$': a
 * path with one of these gets a symbolic link in a private folder, which library_abandon() removes.
 *
 * Returns 0, or -errno with @message filled.
 */
int library_find(struct library *library, const char *folder, struct diag_message *message);

/* The folder of the running program. Returns 0, or -errno with @message filled. */
int library_program_folder(char folder[PATH_MAX], struct diag_message *message);

/*
 * Remove the link, if one was made.
 * Context: signal-safe.
 */
void library_abandon(void);

#endif
