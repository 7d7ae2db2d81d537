/* SPDX-License-Identifier: MIT */
/*
 * What a thread has used, and the stacks that go with it.
 *
 * By the CPU clock a look at a thread counts only when it finds it running: looks fall at random
 * times, so those that count are spread over the time on the CPU as evenly as a timer of the
 * thread's own would spread them. Such a sample weighs what the thread used since the one before.
 * What a thread does in the last microseconds before it goes to sleep is seen less often than it
 * happens: it sleeps before it can be stopped, and that look does not count.
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

/* Look at every thread, and ask those to stop whose stacks are wanted. */
void sample_tick(struct tracer *tracer);

/* Look for new threads and new mappings, now and then: while nobody is held or about to be. */
void sample_upkeep(struct tracer *tracer);

/* @tracee, which was asked, has stopped: take its stack, let it go with @request and @signal. */
void sample_stopped(struct tracer *tracer, struct tracee *tracee, int request, int signal);

/* @tracee is not going to stop any more, or has been forgotten about. */
void sample_unask(struct tracer *tracer, struct tracee *tracee);

/* @tracee is about to be forgotten: what it used since its last sample is credited. */
void sample_last(struct tracer *tracer, struct tracee *tracee);

/* The same of a whole target: what no thread accounts for is credited to the process. */
void sample_settle(struct tracer *tracer, struct target *target);

#endif
