/* SPDX-License-Identifier: MIT */
/*
 * flamerun's side of sampling from outside. Starts the tracing process (tracer.h), tells it which
 * processes to attach to, and ends it. The tracer writes its records to the run's pipe. It is used
 * for programs that the library cannot be in: running processes, static programs, those of other
 * C libraries.
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
	bool waits; /* record what threads wait for */
	bool wait_details; /* with names of files and addresses of locks */
	bool follow; /* trace children as well */
	/* The run whose uninjected programs are to be found, borrowed; NULL: only by command. */
	struct wire_arena *arena;
	int arena_descriptor;
	int pipe; /* the tracer's pipe, writing end, non-blocking; borrowed for the call */
};

/*
 * Start the tracing process. Returns 0 and an owned object in *@out, or -errno with @message
 * filled.
 */
int outside_open(struct outside **out, const struct outside_config *config,
	struct diag_message *message);

/* End the tracing process; its targets are detached and run on. NULL is fine. */
void outside_free(struct outside *outside);

/* Pid of the tracing process, for prctl(2), PR_SET_PTRACER. */
pid_t outside_tracer(const struct outside *outside);

/*
 * Sample @pid from now on; with @from_exec, from its next exec on.
 * Returns 0, or -errno with @message filled: the rule that forbids it.
 */
int outside_attach(
	struct outside *outside, pid_t pid, bool from_exec, struct diag_message *message);

/* Is the tracing process alive? */
bool outside_is_alive(const struct outside *outside);

/* Ask the tracer to detach all targets and to end its stream of records. Does not wait. */
void outside_finish(struct outside *outside);

#endif
