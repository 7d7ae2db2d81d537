/* SPDX-License-Identifier: MIT */
/*
 * What will happen when a command is run, found out before anything is started: which file execvp()
 * would take, whether the kernel would run it, and whether our library can get into the ELF file
 * that ends up running.
 */
#ifndef CLI_RUN_PREFLIGHT_H
#define CLI_RUN_PREFLIGHT_H

#include <limits.h>
#include <stdbool.h>

#include "cli/diag.h"

#define PREFLIGHT_SHELL "/bin/sh" /* runs text without "#!", as execvp() has it */

struct preflight_request {
	const char *program; /* as on the command line */
	const char *path;    /* PATH; NULL: not set */
	int directory;       /* what relative names are relative to; AT_FDCWD for ours */
};

struct preflight {
	char path[PATH_MAX]; /* the file to exec */
	bool by_shell;       /* it is text without "#!" */
	bool by_tracer;	     /* no library gets in, but it can be sampled from outside: */
	char why[DIAG_TEXT_BYTES];
};

/*
 * Look at the command. Borrows @request. Nothing is changed or started.
 *
 * Returns 0 and *@out filled, or -errno with @message filled:
 *   -ENOENT   no such program, or its interpreter or loader is missing
 *   -ENOTSUP  it would run, but the library cannot get in
 *   others    it cannot be executed
 */
int preflight(struct preflight *out, const struct preflight_request *request,
	struct diag_message *message);

/* The exit status for an error of preflight() or of exec: 125, 126 or 127. */
int preflight_status(int error);

#endif
