/* SPDX-License-Identifier: MIT */
/*
 * Before anything is started, find out which file execvp() would execute for a command, whether the
 * kernel would run that file, and whether the library can be loaded into the ELF file that finally
 * runs.
 */
#ifndef CLI_RUN_PREFLIGHT_H
#define CLI_RUN_PREFLIGHT_H

#include <limits.h>
#include <stdbool.h>

#include "cli/diag.h"

#define PREFLIGHT_SHELL "/bin/sh" /* runs text without "#!", as execvp() does */

struct preflight_request {
	const char *program; /* as on the command line */
	const char *path;    /* PATH; NULL: not set */
	/* descriptor of the folder for relative names, or AT_FDCWD */
	int directory;
};

struct preflight {
	char path[PATH_MAX]; /* the file to exec */
	bool by_shell;       /* @path is text without "#!" */
	/* The library cannot be loaded because of @why, but a tracer can sample the program. */
	bool by_tracer;
	char why[DIAG_TEXT_BYTES];
};

/*
 * Check the command. Changes and starts nothing. Borrows @request. Returns 0 with *@out filled, or
 * -errno with @message filled:
 *   -ENOENT   the program, its interpreter or its loader does not exist
 *   -ENOTSUP  the program would run, but the library cannot be loaded
 *   others    the program cannot be executed
 */
int preflight(struct preflight *out, const struct preflight_request *request,
	struct diag_message *message);

/* Returns the exit status for an error of preflight() or exec: 125, 126 or 127. */
int preflight_status(int error);

#endif
