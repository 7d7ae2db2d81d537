/* SPDX-License-Identifier: MIT */
/*
 * The child from its start to its end: the loop that gathers while waiting, and what the child's
 * stops and continuations mean for us.
 */
#ifndef CLI_RUN_WATCH_H
#define CLI_RUN_WATCH_H

#include <stdint.h>
#include <sys/types.h>

#include "cli/profile/accounting.h"

struct gather;
struct jit_watch;

struct watch {
	pid_t child;
	int doorbell;          /* of signals_catch(); borrowed */
	struct gather *gather; /* borrowed; NULL: only wait */
	struct jit_watch *jit; /* borrowed; looks while there is a gather */
	uint64_t deadline_ns;  /* CLOCK_MONOTONIC; 0: none */
	/* Filled at the end. */
	int wait_status;
	struct accounting_child used; /* what the kernel says of it */
};

enum watch_event { WATCH_ENDED, WATCH_DEADLINE };

/*
 * Gather until the child has ended and is reaped (signals are no longer passed on then), or the
 * deadline has come. May be called again after a deadline, with another one or none.
 */
enum watch_event watch(struct watch *watch);

/*
 * After the end: go on gathering while descendants run, at most @limit_ms and not when somebody is
 * in a hurry. Returns how many still run.
 */
unsigned watch_descendants(const struct watch *watch, unsigned limit_ms);

#endif
