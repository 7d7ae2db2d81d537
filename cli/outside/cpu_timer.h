/* SPDX-License-Identifier: MIT */
/*
 * POSIX CPU timers in a traced process, one per thread. The process itself creates them: the tracer
 * makes one of its stopped threads execute the system calls (remote_call.h).
 *
 * When a thread has used a period of CPU time, its timer sends a signal that arrives on the
 * thread's way back to user mode. A traced thread stops before the signal is delivered. In this
 * stop the tracer takes the sample, and then resumes the thread without the signal. So no system
 * call is interrupted.
 *
 * Context: the tracing thread.
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
 * their handlers ignore it if another sender sent it. The tracer recognizes its timers' signals by
 * si_code and passes all others on. If the process has no handler, the tracer makes it ignore the
 * signal. Otherwise, if the tracer were killed, the next timer signal would end the process.
 */
#define CPU_TIMER_SIGNAL 33

struct cpu_timer_expiry {
	int timer;	 /* number of the timer */
	uint32_t weight; /* periods since its last signal */
};

/*
 * Has the stopped thread @tid stopped because a timer of flamerun sent it @signal? If so, fill
 * @expiry. The timer may have been made by an earlier flamerun that was killed, so compare
 * expiry->timer with tracee->timer.
 */
bool cpu_timer_has_expired(pid_t tid, int signal, struct cpu_timer_expiry *expiry);

/* Is the signal of @tracee's timer pending while @tracee is stopped for another signal? */
bool cpu_timer_is_pending(const struct tracee *tracee);

/*
 * Find out what restricts timers for all processes. Call this once, before any thread is stopped.
 */
void cpu_timers_prepare(struct tracer *tracer);

/*
 * Make timers for all threads with WAY_WAITING in @tracee's process. @tracee must be in a stop that
 * allows remote calls (remote_call.h). If the process can have no timers, its threads get WAY_STOPS
 * and the reason is counted. If only this stop does not allow it, they keep WAY_WAITING. Returns
 * the signal with which to resume @tracee, or 0.
 */
int cpu_timers_make(struct tracer *tracer, struct tracee *tracee);

/* Delete all timers of @tracee's process. Needs the same stop and returns as cpu_timers_make(). */
int cpu_timers_delete(struct tracer *tracer, struct tracee *tracee);

/*
 * Delete @timer, which an earlier flamerun made and for which @tracee has stopped. Then do as
 * cpu_timers_make(), and return the signal with which to resume @tracee, or 0.
 */
int cpu_timers_delete_left(struct tracer *tracer, struct tracee *tracee, int timer);

/* Count one more process that has no timers. @why is the reason, a string literal. */
void cpu_timer_refuse(struct tracer *tracer, const char *why);

/* Set tracee->way to @way, and update the counts of threads with each way. */
void cpu_timer_set_way(struct tracer *tracer, struct tracee *tracee, enum way way);

/*
 * Forget the timer of @tracee, because the thread has ended or exec'd. The timer is put into the
 * list of timers that a stopped thread of the process deletes later.
 */
void cpu_timer_forget(struct tracer *tracer, struct tracee *tracee);

#endif
