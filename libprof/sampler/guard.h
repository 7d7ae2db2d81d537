/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: stands before the program's handlers. */
/*
 * The program's handlers that run on alternate stacks. Such a stack has room for the program's
 * handler, and may have none for ours on top of it, however little that takes: the kernel's frame
 * alone is kilobytes. How much is left shows only when a handler begins. So the kernel calls us,
 * with our signal blocked; where there is room it is unblocked, and the program's handler goes on
 * in our place, as if it had been called itself. Go's handlers, which block everything, are sampled
 * like that, too.
 *
 * Where there is none our signal waits until the handler has returned, and what became due in there
 * is noted in the thread's entry: the place to which the program then goes on did not use it.
 */
#ifndef LIBPROF_SAMPLER_GUARD_H
#define LIBPROF_SAMPLER_GUARD_H

#include <signal.h>

struct arch_registers;
struct sampler_thread;

/*
 * sigaction(2) for any signal but SAMPLER_SIGNAL: handlers on alternate stacks get us before them,
 * and the program is told what it asked for. Returns 0, or -1 with errno.
 * Context: any thread, a handler, a vfork child.
 */
int guard_sigaction(int signal, const struct sigaction *action, struct sigaction *old);

/* What the program knows as @handler of @signal. Context: signal-safe. */
sighandler_t guard_told(int signal, sighandler_t handler);

/*
 * Is what expired at @registers delivered where a handler that ran with our signal blocked has just
 * returned to? Forgets it. Context: the thread's handler.
 */
int guard_is_behind(struct sampler_thread *thread, const struct arch_registers *registers);

/*
 * Is a SAMPLER_SIGNAL of the program's own, delivered at @ucontext, one that waits for the end of a
 * handler of its own? True on an alternate stack if any handler there asked for that.
 * Context: our handler.
 */
int guard_is_holding(const void *ucontext);

#endif
