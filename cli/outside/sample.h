/* SPDX-License-Identifier: MIT */
/*
 * Takes samples of threads that have stopped, and asks threads to stop that have no timer.
 *
 * A thread with a CPU timer (cpu_timer.h) stops when a period of its CPU time is over, on its way
 * back to user mode; the sample weighs as many periods as the timer says. Its registers and its
 * stack are copied and it goes on; the copy is walked after that. It stays stopped during the walk
 * only if that reads more than one stack: a language's frames, or those of a goroutine whose
 * runtime works on a stack of its own. They change once the thread runs.
 *
 * A thread that can have no timer is stopped (PTRACE_INTERRUPT) when it has used a period of CPU
 * time, part of it in user mode, and is running. The same stop is the first one of a process that
 * ran already when we came, in which the timers of all its threads are made. Such a stop cuts a
 * system call short that looks for signals while it works; so it waits until the thread has been
 * in user mode for some time, as far as the kernel's ticks tell, but not for ever. A thread that
 * has worked and sleeps again is stopped at once if it sleeps in a call that goes on after that.
 *
 * Other threads that sleep are left alone.
 *
 * Context: the tracing thread.
 */
#ifndef CLI_OUTSIDE_SAMPLE_H
#define CLI_OUTSIDE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/outside/tracer.h"

/* @tracee, whose counted_ns is set, is to be sampled from now on: it waits for a timer. */
void sample_begin(struct tracer *tracer, struct tracee *tracee);

/*
 * @tracee has stopped for its timer, which expired @expired times since the last stop for it: take
 * its stack and resume it. If it was sampled by stops, because it blocked the timer's signal, it is
 * sampled by its timer again.
 */
void sample_expired(struct tracer *tracer, struct tracee *tracee, uint32_t expired);

/*
 * @tracee has stopped for @signal, and its timer's signal is pending: take its stack already, and
 * resume it with @signal. Signals are delivered by number, so @signal's handler would be set up
 * first, and the stop for the timer would be in that handler, or in what it returns to: Go's
 * handler of SIGURG changes that.
 */
void sample_early(struct tracer *tracer, struct tracee *tracee, int signal);

/* @tracee, which was asked, or is new, has stopped: the same, resuming it with @request. */
void sample_stopped(struct tracer *tracer, struct tracee *tracee, int request);

/*
 * SIGCONT was sent to the process of @tracee, at which the kernel stops all traced threads. Resume
 * @tracee. A system call that this broke off is begun again, unless the process had been stopped:
 * then the call fails without a tracer, too.
 */
void sample_continued(struct tracee *tracee);

/* Look at every thread that has no timer, and ask those to stop whose stacks are wanted. */
void sample_round(struct tracer *tracer);

/* @tracee is about to be forgotten: what it used since its last sample is credited. */
void sample_credit_thread(struct tracer *tracer, struct tracee *tracee);

/* The same of a whole target: what no thread accounts for is credited to the process. */
void sample_credit_target(struct tracer *tracer, struct target *target);

#endif
