/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: the handler's last act. */
/*
 * Blocking system calls that a signal of the program's was to break off.
 */
#ifndef LIBPROF_SAMPLER_INTERRUPTED_H
#define LIBPROF_SAMPLER_INTERRUPTED_H

/*
 * Let a system call that would be made again after our handler fail with EINTR, if a signal is
 * pending whose handler the program installed without SA_RESTART.
 * @ucontext: what the kernel passed to our handler; changed then.
 * Context: the handler, all signals blocked.
 */
void interrupted_fail(void *ucontext);

#endif
