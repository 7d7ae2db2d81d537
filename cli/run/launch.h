/* SPDX-License-Identifier: MIT */
/*
 * A child of ours: starting the program, with the library preloaded and everything else as flamerun
 * got it; and from its start to its end the loop that gathers while waiting, and what its stops and
 * continuations mean for us.
 */
#ifndef CLI_RUN_LAUNCH_H
#define CLI_RUN_LAUNCH_H

#include <stdint.h>
#include <sys/types.h>

#include "cli/diag.h"
#include "cli/profile/accounting.h"
#include "cli/run/preflight.h"

struct gather;
struct live;

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
	/* What stands in for a terminal that is ours: -1: nothing. */
	int terminal_input, terminal_output;
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

/* ---- from its start to its end --------------------------------------------------------------- */

struct watch {
	pid_t child;
	int doorbell;	       /* of signals_catch(); borrowed */
	struct gather *gather; /* borrowed; NULL: only wait */
	struct live *live;     /* borrowed; NULL: nothing is shown meanwhile */
	uint64_t deadline_ns;  /* CLOCK_MONOTONIC; 0: none */
	/* Filled at the end. */
	int wait_status;
	struct accounting_child used; /* what the kernel says of it */
};

enum watch_event {
	WATCH_ENDED,
	WATCH_DEADLINE
};

/*
 * Gather until the child has ended and is reaped (signals are no longer passed on then), or the
 * deadline has come. May be called again after a deadline, with another one or none.
 */
enum watch_event watch_child(struct watch *watch);

/*
 * After the end: go on gathering while descendants run, at most @limit_ms and not when somebody is
 * in a hurry. Returns how many still run.
 */
unsigned watch_descendants(const struct watch *watch, unsigned limit_ms);

#endif
