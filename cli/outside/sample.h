/* SPDX-License-Identifier: MIT */
/*
 * Whom to stop for a sample, and whether it was running when we came.
 *
 * By the CPU clock a sample is due when a thread has used a period of CPU time, and is taken at the
 * first look that finds it running. Looks come at random, and the next one is on the CPU of a
 * thread that is due (affinity.h), whether it runs just now or not: when we wake up there it is
 * pushed off, and its stack is that of this very moment. So each moment it runs is as likely as any
 * other; and a sample weighs what the thread used since the one before.
 *
 * Candidates are those that lost their CPU against their will since the look before; which of them
 * was on our CPU is known when it stops. A thread that had been woken up and waited for its turn is
 * none. Kernels that let a call finish before they let us run move what we see to its end; and what
 * goes to sleep then is not seen. It is the same for timers in the thread itself.
 *
 * Who may not go before others (priorities are for root) still gets the CPU at once, because it
 * mostly sleeps and asks for little. Where many threads want one, looking takes more than its fair
 * share: it waits now and then, and the first 50 us after a sleep are seen somewhat too rarely.
 *
 * Threads that sleep are left alone, whatever they used before: stopping one breaks off its system
 * call, and not every call can be restarted.
 *
 * Context: the tracing thread.
 */
#ifndef CLI_OUTSIDE_SAMPLE_H
#define CLI_OUTSIDE_SAMPLE_H

#include "cli/outside/tracer.h"

/* @tracee, whose counted_ns is set, is to be sampled from now on. */
void sample_begin(struct tracer *tracer, struct tracee *tracee);

/* Look at every thread, ask those to stop whose stacks are wanted, choose where to look next. */
void sample_round(struct tracer *tracer);

/* @tracee, which was asked, has stopped: take its stack, let it go with @request and @signal. */
void sample_stopped(struct tracer *tracer, struct tracee *tracee, int request, int signal);

/* @tracee is not going to stop any more, or has been forgotten about. */
void sample_cancel(struct tracer *tracer, struct tracee *tracee);

/* @tracee is about to be forgotten: what it used since its last sample is credited. */
void sample_credit_thread(struct tracer *tracer, struct tracee *tracee);

/* The same of a whole target: what no thread accounts for is credited to the process. */
void sample_credit_target(struct tracer *tracer, struct target *target);

#endif
