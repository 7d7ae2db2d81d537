/* SPDX-License-Identifier: MIT */
/*
 * flamerun's side of sampling from outside: start the tracing process (tracer.h), send it the pids
 * to attach to, and end it. The tracer writes its records to a pipe of its own. It samples programs
 * that cannot load the library: running processes, static programs, and those of other C libraries.
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
	bool waits; /* record threads' waits */
	/* Record also the names of files and the addresses of locks that threads wait for. */
	bool wait_details;
	bool follow; /* trace children as well */
	/* Arena, borrowed. If set, attach also to the run's programs without a slot in it. */
	struct wire_arena *arena;
	int arena_descriptor;
	/* The writing end of the tracer's pipe, non-blocking. Borrowed for the call. */
	int pipe;
};

/* Start the tracing process. Returns 0 and an owned *@out, or -errno with @message filled. */
int outside_open(struct outside **out, const struct outside_config *config,
	struct diag_message *message);

/* End the tracing process and free @outside (or NULL). Its targets continue, detached. */
void outside_free(struct outside *outside);

/* Returns the pid of the tracing process, for prctl(2), PR_SET_PTRACER. */
pid_t outside_tracer(const struct outside *outside);

/*
 * Sample @pid from now on, or from its next exec on if @from_exec. Returns 0, or -errno with
 * @message filled, which names the rule that forbids it.
 */
int outside_attach(
	struct outside *outside, pid_t pid, bool from_exec, struct diag_message *message);

/* Is the tracing process alive? */
bool outside_is_alive(const struct outside *outside);

/* Ask the tracer to detach all targets and to end its stream of records. Does not wait. */
void outside_finish(struct outside *outside);

#endif
