/* SPDX-License-Identifier: MIT */
/*
 * Find out, before anything is started, which file execvp() would execute for a command, whether
 * the kernel would run it, and whether the library can get into the ELF file that finally runs.
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
	int directory;       /* descriptor for relative names, or AT_FDCWD */
};

struct preflight {
	char path[PATH_MAX]; /* the file to exec */
	bool by_shell;       /* it is text without "#!" */
	/* the library cannot get in, but a tracer can sample it; the reason: */
	bool by_tracer;
	char why[DIAG_TEXT_BYTES];
};

/*
 * Check the command. Changes and starts nothing. Borrows @request. Returns 0 with *@out filled, or
 * -errno with @message filled:
 *   -ENOENT   no such program, or its interpreter or loader is missing
 *   -ENOTSUP  it would run, but the library cannot get in
 *   others    it cannot be executed
 */
int preflight(struct preflight *out, const struct preflight_request *request,
	struct diag_message *message);

/* Returns the exit status for an error of preflight() or exec: 125, 126 or 127. */
int preflight_status(int error);

#endif
