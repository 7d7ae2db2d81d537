/* SPDX-License-Identifier: MIT */
/*
 * What a thread has used, and the stacks that go with it.
 *
 * Context: the tracing thread.
 */
#ifndef CLI_OUTSIDE_SAMPLE_H
#define CLI_OUTSIDE_SAMPLE_H

#include "cli/outside/tracer.h"

/* @tracee, whose counted_ns is set, is to be sampled from now on. */
void sample_begin(struct tracer *tracer, struct tracee *tracee);

/* The clock @tracee's samples are counted by, now. */
uint64_t sample_clock(const struct tracer *tracer, struct tracee *tracee);

/* With --wall: @tracee is where its last stack was taken. */
void sample_again(struct tracer *tracer, struct tracee *tracee);

/* Look for new threads and new mappings, now and then: while nobody is held or about to be. */
void sample_upkeep(struct tracer *tracer);

/* @tracee, which was asked, has stopped: take its stack, let it go with @request and @signal. */
void sample_stopped(struct tracer *tracer, struct tracee *tracee, int request, int signal);

/* @tracee is about to be forgotten: what it used since its last sample is credited. */
void sample_last(struct tracer *tracer, struct tracee *tracee);

/* The same of a whole target: what no thread accounts for is credited to the process. */
void sample_settle(struct tracer *tracer, struct target *target);

#endif
