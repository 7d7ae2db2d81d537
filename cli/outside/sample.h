/* SPDX-License-Identifier: MIT */
/*
 * Take samples of stopped threads, and ask threads without timers to stop.
 *
 * A thread with a CPU timer (cpu_timer.h) stops when it has used a period of CPU time, on its way
 * back to user mode. The sample's weight is the number of periods that the timer reports. The
 * tracer copies the thread's registers and stack, resumes the thread, and then walks the copy. The
 * thread stays stopped during the walk only if the walk must read other memory that changes when
 * the thread runs: that of language frames, or a goroutine's stack while Go's runtime works on its
 * own stack.
 *
 * A thread that can have no timer is stopped by PTRACE_INTERRUPT if it is running, has used a
 * period of CPU time, and was in user mode for a part of it. In a process that was attached to
 * while it ran, the first stop is made in the same way, and the timers of all its threads are made
 * in this stop. Such a stop cuts a system call short if the call checks for signals while it works.
 * So the tracer waits until the thread has been in user mode for some time, according to the
 * kernel's ticks, but not longer than PATIENCE_NS. If the thread has used CPU time and sleeps in a
 * call that the kernel restarts, it is stopped at once. Other sleeping threads are not stopped.
 *
 * Context: the tracing thread.
 */
#ifndef CLI_OUTSIDE_SAMPLE_H
#define CLI_OUTSIDE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/outside/tracer.h"

/*
 * Begin to sample @tracee; the caller has set its counted_ns. The thread gets WAY_WAITING (it waits
 * for a timer), or WAY_STOPS if its process can have no timers.
 */
void sample_begin(struct tracer *tracer, struct tracee *tracee);

/*
 * Record the stack of @tracee, which its timer has stopped, and resume it. The timer has expired
 * @expired times since the last such stop. If @tracee was sampled by stops, because it blocked the
 * timer's signal, it is sampled by its timer again.
 */
void sample_expired(struct tracer *tracer, struct tracee *tracee, uint32_t expired);

/*
 * Read the stack of @tracee and keep it for the thread's next sample, then resume the thread with
 * @signal. Call this if the thread stopped for @signal while its timer's signal is pending, too.
 * The kernel delivers the lower signal number first, so at the timer's own stop the thread would be
 * in the handler of @signal, or in other code to which the handler returns, as with Go's handler of
 * SIGURG.
 */
void sample_early(struct tracer *tracer, struct tracee *tracee, int signal);

/* Record the stack of @tracee, which was asked to stop or is new. Resume it by @request. */
void sample_stopped(struct tracer *tracer, struct tracee *tracee, int request);

/*
 * Resume @tracee, which the kernel stopped because its process got a SIGCONT. Restart the system
 * call that this stop interrupted, except if the process had been stopped before: in that case the
 * call would fail without a tracer as well.
 */
void sample_continued(struct tracee *tracee);

/* Check every thread without a timer, and ask those to stop that should be sampled. */
void sample_round(struct tracer *tracer);

/* Before @tracee is removed: record its CPU time since its last sample, without a stack. */
void sample_credit_thread(struct tracer *tracer, struct tracee *tracee);

/* Record the CPU time of @target that is counted for none of its threads, without a stack. */
void sample_credit_target(struct tracer *tracer, struct target *target);

#endif
