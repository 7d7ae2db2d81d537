/* SPDX-License-Identifier: MIT */
/*
 * Start the program with the library preloaded and otherwise with the environment that flamerun
 * got. Then gather samples until it ends, and follow its job-control stops and continuations.
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
	char *const *argv;   /* the program's; ends with NULL */
	const char *library; /* absolute path; NULL: change nothing in the environment */
	const char *channel; /* "NAME=value" for the library */
	/*
	 * If not NULL: called between fork and exec of @child, which execs only if this returns 0.
	 * Else it returns -errno with @message filled.
	 */
	int (*admit)(void *context, pid_t child, struct diag_message *message);
	void *context;
	/* Descriptors that replace standard streams on a terminal; -1: none. */
	int terminal_input, terminal_output;
	pid_t tracer; /* process allowed to trace the program; <= 0: none */
};

/*
 * Start the program. The caller calls signals_block() before and signals_unblock() afterwards.
 * Returns 0 and the pid in *@child once exec has succeeded. Else returns the exit status for the
 * error, 125 to 127, with @message filled and no process left.
 */
int launch(pid_t *child, const struct launch_request *request, struct diag_message *message);

/*
 * Copy the environment @base with @library appended to LD_PRELOAD, and @channel in place of a
 * variable of its name. Returns an owned array for launch_environment_free(), or NULL without
 * memory. Unchanged strings are borrowed from @base.
 */
char **launch_environment(char *const *base, const char *library, const char *channel);
void launch_environment_free(char **environment);

/* ---- watching the child ---------------------------------------------------------------------- */

struct watch {
	pid_t child;
	int doorbell;	       /* descriptor of signals_catch(); borrowed */
	struct gather *gather; /* borrowed; NULL: wait only */
	struct live *live;     /* borrowed; NULL: show nothing */
	uint64_t deadline_ns;  /* CLOCK_MONOTONIC; 0: none */
	/* The following are filled when the child has ended. */
	int wait_status;
	struct accounting_child used; /* the kernel's report on it */
};

enum watch_event {
	WATCH_ENDED,
	WATCH_DEADLINE
};

/*
 * Gather until the child has ended and was reaped, or until the deadline. Before reaping, passing
 * on of signals is stopped. May be called again after a deadline.
 */
enum watch_event watch_child(struct watch *watch);

/*
 * Gather while descendants of the ended child run, for at most @limit_ms, or until signals_hurry().
 * Returns the number of descendants that still run.
 */
unsigned watch_descendants(const struct watch *watch, unsigned limit_ms);

#endif
