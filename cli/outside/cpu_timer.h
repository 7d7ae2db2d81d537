/* SPDX-License-Identifier: MIT */
/*
 * POSIX CPU timers in a traced process, one for each of its threads. The process creates them
 * itself, by system calls that the tracer has one of its stopped threads execute (remote_call.h).
 *
 * When a thread has used a period of CPU time its timer sends it a signal, on the thread's way back
 * to user mode. A traced thread stops before a signal is delivered: the tracer takes the sample in
 * that stop and resumes the thread without the signal. So no system call is interrupted.
 *
 * Context: the thread that traces.
 */
#ifndef CLI_OUTSIDE_CPU_TIMER_H
#define CLI_OUTSIDE_CPU_TIMER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/outside/target.h"

struct tracer;

/*
 * The timers' signal. glibc and musl use it internally, so they do not let programs block it, and
 * their handlers do nothing if it comes from elsewhere. What they send is told from our timers'
 * signals by si_code and passed on. Where the process has no handler it is set to be ignored: its
 * default action would end the process if the tracer were killed and the timers went on.
 */
#define CPU_TIMER_SIGNAL 33

struct cpu_timer_expiry {
	int timer;	 /* the kernel's number of the timer */
	uint32_t weight; /* periods since its last signal */
};

/*
 * The thread @tid has stopped for @signal. Returns true if a flamerun's timer sent the signal. An
 * earlier flamerun that was killed may have left the timer: compare expiry->timer with the number
 * in the thread's struct tracee.
 */
bool cpu_timer_has_expired(pid_t tid, int signal, struct cpu_timer_expiry *expiry);

/* @tracee has stopped for another signal. Is its timer's signal pending, to be delivered later? */
bool cpu_timer_is_pending(const struct tracee *tracee);

/* Read what is the same for all processes. Call it once, before any thread is stopped. */
void cpu_timers_prepare(struct tracer *tracer);

/*
 * @tracee is in a stop that remote_call.h allows. Make timers for all threads of its process that
 * have WAY_WAITING. If the process can have none, they get WAY_STOPS and the reason is counted. If
 * only this stop does not allow it, they keep WAY_WAITING. Returns the signal to resume @tracee
 * with, or 0.
 */
int cpu_timers_make(struct tracer *tracer, struct tracee *tracee);

/* Delete all timers of @tracee's process, in such a stop. Returns as cpu_timers_make(). */
int cpu_timers_delete(struct tracer *tracer, struct tracee *tracee);

/*
 * @tracee has stopped for @timer, which an earlier flamerun left in its process. Delete it, and
 * make timers as cpu_timers_make() does. Returns the signal to resume @tracee with, or 0.
 */
int cpu_timers_delete_left(struct tracer *tracer, struct tracee *tracee, int timer);

/* Count one more process that has no timers. @why: the reason, a string literal. */
void cpu_timer_refuse(struct tracer *tracer, const char *why);

/* Set tracee->way, and keep the counts of threads by way. */
void cpu_timer_set_way(struct tracer *tracer, struct tracee *tracee, enum way way);

/* @tracee has ended or exec'd. Its timer is deleted when a thread of its process next stops. */
void cpu_timer_forget(struct tracer *tracer, struct tracee *tracee);

#endif
