/* SPDX-License-Identifier: MIT */
/*
 * Start the program with the library preloaded and with flamerun's environment otherwise unchanged.
 * Then gather samples until the program ends. If job control stops or continues the program, stop
 * or continue flamerun.
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
	const char *library; /* NULL: keep the environment */
	const char *channel; /* "NAME=value" for the library */
	/*
	 * Called after fork, with the child waiting before exec. The child execs only if this
	 * function returns 0. Otherwise it returns -errno with @message filled. May be NULL.
	 */
	int (*admit)(void *context, pid_t child, struct diag_message *message);
	void *context;
	/* Descriptors that replace standard streams if those are terminals; -1: keep the stream. */
	int terminal_input, terminal_output;
	/* pid that may trace the program; <= 0: none */
	pid_t tracer;
};

/*
 * Start the program. Call signals_block() before and signals_unblock() afterwards. Returns 0 and
 * the pid in *@child when exec has succeeded. Otherwise returns the exit status for the error, 125
 * to 127, with @message filled; no child is left.
 */
int launch(pid_t *child, const struct launch_request *request, struct diag_message *message);

/*
 * Copy the environment @base. Append @library to LD_PRELOAD, and replace or add the variable
 * @channel. Returns an owned array for launch_environment_free(), or NULL if there is no memory.
 * The array borrows the other strings of @base.
 */
char **launch_environment(char *const *base, const char *library, const char *channel);
void launch_environment_free(char **environment);

/* ---- watching the child ---------------------------------------------------------------------- */

struct watch {
	pid_t child;
	int doorbell; /* of signals_catch(); borrowed */
	struct gather *gather; /* borrowed; NULL: wait only */
	struct live *live;     /* borrowed; NULL: show nothing */
	uint64_t deadline_ns;  /* CLOCK_MONOTONIC; 0: none */
	/* The members below are filled when the child has ended. */
	int wait_status;
	struct accounting_child used; /* reported by the kernel */
};

enum watch_event {
	WATCH_ENDED,
	WATCH_DEADLINE
};

/*
 * Gather samples until the child has ended and was reaped, or until the deadline. Signals are no
 * longer forwarded when the child is reaped. May be called again after a deadline.
 */
enum watch_event watch_child(struct watch *watch);

/*
 * Gather samples while descendants of the ended child run, for at most @limit_ms, or until
 * signals_hurry() returns true. Returns the number of descendants that still run.
 */
unsigned watch_descendants(const struct watch *watch, unsigned limit_ms);

#endif
