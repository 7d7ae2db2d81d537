/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * The program's own use of our signal. The kernel has our action for it, so the program's action is
 * kept here. A signal that none of our timers sent is handled as the kernel would have done.
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
 * Do what the program asked for with its own signal: leave it pending if the thread asked to block
 * it, ignore it, run the program's handler under the mask it would have had, or die.
 * Context: our handler, on the stack that the kernel chose, all signals blocked.
 */
void host_signal(int signal, siginfo_t *info, void *ucontext);

/* ---- handlers on alternate stacks ------------------------------------------------------------ */
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

struct arch_registers;
struct sampler_thread;

/*
 * sigaction(2) for any signal but ours: put the guard before handlers on alternate stacks, and
 * return the action that the program asked for. Returns 0, or -1 with errno.
 * Context: any thread, a handler, a vfork child.
 */
int guard_sigaction(int signal, const struct sigaction *action, struct sigaction *old);

/* What the program knows as @handler of @signal. Context: signal-safe. */
sighandler_t guard_program_handler(int signal, sighandler_t handler);

/*
 * Is what expired at @registers delivered where a handler that ran with our signal blocked has just
 * returned to? Forgets it. Context: the thread's handler.
 */
int guard_is_behind(struct sampler_thread *thread, const struct arch_registers *registers);

#endif
