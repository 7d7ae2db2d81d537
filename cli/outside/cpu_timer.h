/* SPDX-License-Identifier: MIT */
/*
 * A CPU timer in the target for each of its threads, which it is made to create while one of them
 * is stopped (remote_call.h). When a thread has used a period of CPU time the kernel sends it a
 * signal on its way back to user mode, and a traced thread stops before a signal reaches it: the
 * tracer takes the sample there and lets the thread go on without the signal. No system call is
 * broken off, because nothing interrupts one.
 *
 * Context: the tracing thread.
 */
#ifndef CLI_OUTSIDE_CPU_TIMER_H
#define CLI_OUTSIDE_CPU_TIMER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/outside/target.h"

struct remote_call;
struct tracer;

/*
 * The signal. Programs can't block it through glibc or musl, which use it themselves and tell their
 * own uses by how it was sent; so do we. It is ignored where nobody handles it: when the tracer is
 * killed the timers go on, and must not kill the program.
 */
#define CPU_TIMER_SIGNAL 33

/*
 * @tid has stopped for @signal: is it one of a timer of ours? Then *@weight is how many periods it
 * is for.
 */
bool cpu_timer_has_expired(pid_t tid, int signal, uint32_t *weight);

/*
 * @tracee has stopped: make timers for all threads of its process that wait for one. Where that
 * can't be they are sampled by stops from now on, and the reason is told; where it can't be at this
 * stop they go on waiting.
 */
void cpu_timers_make(struct tracer *tracer, struct tracee *tracee, struct remote_call *call);

/* The same stop, but its process is to be left: delete all. */
void cpu_timers_delete(struct tracer *tracer, struct tracee *tracee, struct remote_call *call);

/* One more process is sampled by stops, for the reason @why, a literal. */
void cpu_timer_refuse(struct tracer *tracer, const char *why);

/* What stops @tracee from now on; keeps count of those that wait. */
void cpu_timer_set_way(struct tracer *tracer, struct tracee *tracee, enum way way);

/* @tracee is over, its process may go on. */
void cpu_timer_forget(struct tracer *tracer, struct tracee *tracee);

#endif
