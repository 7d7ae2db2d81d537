/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: called at the end of the handler. */
/*
 * Repair blocking system calls that were interrupted by the sampling signal and by a signal of the
 * program's own.
 */
#ifndef LIBPROF_SAMPLER_INTERRUPTED_H
#define LIBPROF_SAMPLER_INTERRUPTED_H

#include "libprof/sampler/sampler.h"

/*
 * If a system call would be restarted after our handler, and a signal is pending whose handler the
 * program installed without SA_RESTART, make the call fail with EINTR. @ucontext is the handler's
 * third argument; it is changed in that case. Context: the handler, all signals blocked.
 */
void interrupted_fail(void *ucontext);

/*
 * Returns 1 if our signal interrupted the call that @thread->wait describes. @thread is the calling
 * thread; @ucontext is the handler's third argument. Context: the handler.
 */
int interrupted_wait(const struct sampler_thread *thread, const void *ucontext);

/*
 * If our signal interrupted the call that @thread->wait describes, change @ucontext, the handler's
 * third argument, so that the thread repeats the call. Call this only for a signal of @thread's
 * timer. Context: the handler.
 */
void interrupted_repeat(const struct sampler_thread *thread, void *ucontext);

#endif
