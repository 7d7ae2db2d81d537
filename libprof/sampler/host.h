/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * The program's own SIGPROF: the kernel's entry for it is ours, so what the program asked for is
 * kept here, and a SIGPROF that is not one of our timers' is treated as the kernel would have.
 */
#ifndef LIBPROF_SAMPLER_HOST_H
#define LIBPROF_SAMPLER_HOST_H

#include <signal.h>
#include <stdint.h>

/* Keep @action, borrowed for the call. Context: any thread, signal-safe. */
void host_set(const struct sigaction *action);

/* What was kept last. Context: any thread, signal-safe. */
void host_get(struct sigaction *out);

/*
 * Do with a SIGPROF of the program's own what the program asked for: leave it pending where the
 * thread means to block it, ignore it, run the handler under the mask it would have had, or die.
 * Context: our handler, all signals blocked.
 */
void host_signal(int signal, siginfo_t *info, void *ucontext);

/*
 * Somebody's @handler, called as the kernel would, takes signals that have a handler of the
 * program's from now on: it calls host_signal_kept() when it holds that the time has come.
 * Context: any thread, signal-safe.
 */
void host_stands_between(uintptr_t handler);

/* As host_signal(), to the end. Context: @handler above, all signals blocked. */
void host_signal_kept(int signal, siginfo_t *info, void *ucontext);

#endif
