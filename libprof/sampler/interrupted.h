/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: called at the end of the handler. */
/* Blocking system calls that a signal of the program's own is meant to interrupt. */
#ifndef LIBPROF_SAMPLER_INTERRUPTED_H
#define LIBPROF_SAMPLER_INTERRUPTED_H

#include "libprof/sampler/sampler.h"

/*
 * If a system call would be restarted after our handler, and a signal is pending whose handler the
 * program installed without SA_RESTART, make the call fail with EINTR.
 * @ucontext: what the kernel passed to our handler; changed in that case.
 * Context: the handler, all signals blocked.
 */
void interrupted_fail(void *ucontext);

/*
 * Did our signal interrupt the call of @thread->wait? @thread: the calling thread. @ucontext: as
 * above. Context: the handler.
 */
int interrupted_wait(const struct sampler_thread *thread, const void *ucontext);

/*
 * Make the thread repeat the call of @thread->wait if it was interrupted. To be called for a signal
 * of @thread's timer. @ucontext: as above, changed in that case. Context: the handler.
 */
void interrupted_repeat(const struct sampler_thread *thread, void *ucontext);

#endif
