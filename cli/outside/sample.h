/* SPDX-License-Identifier: MIT */
/*
 * Takes samples of threads that have stopped, and asks threads to stop that have no timer.
 *
 * A thread with a CPU timer (cpu_timer.h) stops when it has used a period of CPU time, on its way
 * back to user mode. The sample's weight is the number of periods that the timer reports. The
 * tracer copies the thread's registers and stack, resumes it, and then walks the copy. The thread
 * stays stopped during the walk only if the walk reads more than one stack, because the others
 * change once the thread runs: a language's frames, or a goroutine whose runtime works on a stack
 * of its own.
 *
 * A thread that can have no timer is stopped by PTRACE_INTERRUPT when it is running, has used a
 * period of CPU time, and part of it in user mode. The first stop of a process that was attached
 * to while it ran is made in the same way; in it the timers of all its threads are made. Such a
 * stop cuts a system call short if the call checks for signals while it works. So the tracer waits
 * until the thread has been in user mode for some time, according to the kernel's ticks, but not
 * longer than PATIENCE_NS. A thread that has used CPU time and sleeps in a call which the kernel
 * restarts is stopped at once.
 *
 * Other sleeping threads are not stopped.
 *
 * Context: the tracing thread.
 */
#ifndef CLI_OUTSIDE_SAMPLE_H
#define CLI_OUTSIDE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/outside/tracer.h"

/* Begin to sample @tracee, whose counted_ns is set: it waits for a timer. */
void sample_begin(struct tracer *tracer, struct tracee *tracee);

/*
 * @tracee has stopped because its timer has expired @expired times since its last such stop. Record
 * its stack and resume it. If it was sampled by stops, because it blocked the timer's signal, it is
 * sampled by its timer again.
 */
void sample_expired(struct tracer *tracer, struct tracee *tracee, uint32_t expired);

/*
 * @tracee has stopped for @signal while its timer's signal is pending. Keep its stack for the
 * timer's sample, and resume it with @signal. The kernel delivers the lower signal number first, so
 * at the timer's own stop the thread would be in the handler of @signal, or in code that the
 * handler returns to: Go's handler of SIGURG changes that.
 */
void sample_early(struct tracer *tracer, struct tracee *tracee, int signal);

/* @tracee has stopped because it was asked to, or is new. Record its stack; resume by @request. */
void sample_stopped(struct tracer *tracer, struct tracee *tracee, int request);

/*
 * SIGCONT was sent to the process of @tracee, for which the kernel stops all traced threads. Resume
 * @tracee. Restart the system call that this interrupted, unless the process had been stopped: then
 * the call would fail without a tracer as well.
 */
void sample_continued(struct tracee *tracee);

/* Check every thread that has no timer, and ask those to stop that are to be sampled. */
void sample_round(struct tracer *tracer);

/* Credit the CPU time that @tracee, which is about to be removed, used since its last sample. */
void sample_credit_thread(struct tracer *tracer, struct tracee *tracee);

/* Credit the CPU time of @target that is counted for none of its threads. */
void sample_credit_target(struct tracer *tracer, struct target *target);

#endif
