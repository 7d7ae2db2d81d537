/* SPDX-License-Identifier: MIT */
/*
 * Starting the program, with the library preloaded and everything else as flamerun got it.
 */
#ifndef CLI_RUN_LAUNCH_H
#define CLI_RUN_LAUNCH_H

#include <sys/types.h>

#include "cli/diag.h"
#include "cli/run/preflight.h"

struct launch_request {
	const struct preflight *program;
	char *const *argv;   /* of the program, NULL at the end */
	const char *library; /* absolute path; NULL: the environment stays as it is */
	const char *channel; /* "NAME=value" for the library */
	/*
	 * When not NULL: called once the process is there and before it execs, which it does only
	 * if this returns 0. Else -errno with @message filled.
	 */
	int (*admit)(void *context, pid_t child, struct diag_message *message);
	void *context;
	pid_t tracer; /* is allowed to trace the program; 0 or less: nobody */
};

/*
 * Start the program. The caller holds signals (signals_hold()) and releases them afterwards.
 *
 * Returns 0 and its pid in *@child once exec has succeeded; else the exit status that says why, 125
 * to 127, with @message filled and nothing left running.
 */
int launch(pid_t *child, const struct launch_request *request, struct diag_message *message);

/*
 * @base with LD_PRELOAD beginning with @library and with @channel in place of a variable of its
 * name. Returns an owned array for launch_environment_free(), or NULL without memory; the strings
 * that did not change are borrowed from @base.
 */
char **launch_environment(char *const *base, const char *library, const char *channel);
void launch_environment_free(char **environment);

#endif
