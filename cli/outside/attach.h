/* SPDX-License-Identifier: MIT */
/*
 * Getting hold of processes and their threads.
 *
 * Context: the tracing thread.
 */
#ifndef CLI_OUTSIDE_ATTACH_H
#define CLI_OUTSIDE_ATTACH_H

#include <stdbool.h>

#include "cli/outside/tracer.h"

/*
 * Attach to every thread of @pid; none is stopped. @is_waiting: it is sampled from its exec on.
 * Returns 0, or -errno with @message filled, and nothing is attached.
 */
int attach_process(struct tracer *tracer, pid_t pid, bool is_waiting, struct diag_message *message);

/* Attach to the threads of @target that have appeared since. */
void attach_new_threads(struct tracer *tracer, struct target *target);

/*
 * @tid, which the kernel attached for us because its creator was, has stopped for the first time.
 * Returns it, or NULL: it is none of ours, and free again.
 */
struct tracee *attach_born(struct tracer *tracer, pid_t tid);

/* @target has exec'd: its only thread is @tid now. */
void attach_exec(struct tracer *tracer, struct target *target, pid_t tid);

#endif
