/* SPDX-License-Identifier: MIT */
/*
 * Sampling from outside, as flamerun sees it: a tracing process (tracer.h) that is told whom to
 * attach to, and writes records to the run's pipe. For what cannot be injected: running processes,
 * static programs, those of other C libraries.
 *
 * Context: one thread.
 */
#ifndef CLI_OUTSIDE_OUTSIDE_H
#define CLI_OUTSIDE_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/diag.h"

struct outside;
struct wire_arena;

struct outside_config {
	uint32_t rate_hz;
	bool waits; /* is it looked at what threads wait for */
	bool wait_details;
	bool follow; /* children too */
	/* Of a run whose uninjected programs are to be found, borrowed; NULL: whom to trace is
	 * said. */
	struct wire_arena *arena;
	int arena_descriptor;
	int pipe;    /* its writing end, non-blocking; borrowed for the call */
	uint32_t key;
};

/* What it cost the targets. */
struct outside_cost {
	uint64_t stops;
	uint64_t held_ns;   /* all of them together */
	uint64_t fallbacks; /* walks that libunwind brought further */
};

/*
 * Start the tracing process. Returns 0 and an owned object in *@out, or -errno with @message
 * filled.
 */
int outside_open(struct outside **out, const struct outside_config *config,
	struct diag_message *message);

/* Ends the tracing process, if it still runs; its targets go on. NULL is fine. */
void outside_free(struct outside *outside);

/* The tracing process: who it traces may have to allow it, prctl(2), PR_SET_PTRACER. */
pid_t outside_tracer(const struct outside *outside);

/*
 * Sample @pid from now on; @from_exec: once it has exec'd, nothing before.
 * Returns 0, or -errno with @message filled: which rule said no.
 */
int outside_attach(
	struct outside *outside, pid_t pid, bool from_exec, struct diag_message *message);

/* Does the tracing process still run? */
bool outside_is_alive(const struct outside *outside);

/* End of sampling: it lets go of all targets, and its stream of records ends. Does not wait. */
void outside_finish(struct outside *outside);

#endif
