/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * The program's own use of the sampling signal. The kernel has our action for the signal; the
 * program's action is stored here. A signal that our timers did not send is handled as the kernel
 * would have done.
 */
#ifndef LIBPROF_SAMPLER_HOST_H
#define LIBPROF_SAMPLER_HOST_H

#include <signal.h>
#include <stdint.h>

/* Store @action, borrowed for the call. Context: any thread, signal-safe. */
void host_set(const struct sigaction *action);

/* Copy the stored action to @out. Context: any thread, signal-safe. */
void host_get(struct sigaction *out);

/*
 * Handle a signal of the program's own: keep it pending if the thread blocks it, ignore it, run the
 * program's handler under the mask that it would have had, or kill the process. Context: our
 * handler, on the stack that the kernel chose, all signals blocked.
 */
void host_signal(int signal, siginfo_t *info, void *ucontext);

/* ---- handlers on alternate stacks ------------------------------------------------------------ */
/*
 * A guard function runs before the program's handlers on alternate stacks. Such a stack may have no
 * room for our handler on top of the program's, because the kernel's frame alone is kilobytes. How
 * much room there is, is known only when a handler begins. So the kernel calls the guard with our
 * signal blocked. If there is room, the guard unblocks the signal and jumps to the program's
 * handler. This also allows sampling in Go's handlers, which block all signals.
 *
 * Otherwise our signal stays blocked until the handler has returned. The weight of samples that
 * became due in the handler is stored in the thread's entry, so that it is not attributed to the
 * code to which the handler returns.
 */

struct arch_registers;
struct sampler_thread;

/*
 * Do what sigaction(2) does, for any signal except ours. If the handler runs on an alternate stack,
 * the guard is installed in its place. @old gets the program's action, never the guard. Returns 0,
 * or -1 with errno. Context: any thread, a handler, a vfork child.
 */
int guard_sigaction(int signal, const struct sigaction *action, struct sigaction *old);

/*
 * Returns the program's handler of @signal, if @handler as read from the kernel is the guard; else
 * @handler.
 */
sighandler_t guard_program_handler(int signal, sighandler_t handler);

/*
 * Returns 1 if the program's handler that has just returned to @registers ran with our signal
 * blocked. The present sample was then due before that handler began. Clears the recorded return,
 * so that a second call returns 0. Context: the thread's handler.
 */
int guard_is_behind(struct sampler_thread *thread, const struct arch_registers *registers);

#endif
