/* SPDX-License-Identifier: MIT */
/*
 * SIGPROF stays ours while the program believes that it is its own: what it asks for is kept and
 * given back. A program that resets every signal at start, as node and shells do, would otherwise
 * be killed by our timer. What concerns masks is in masks.c.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/auxv.h>

#include "arch/syscall.h"
#include "libprof/at_start.h"
#include "libprof/preload/preload.h"
#include "libprof/sampler/host.h"
#include "libprof/sampler/own_signal.h"
#include "libprof/sampler/own_threads.h"

typedef int sigaction_fn(int, const struct sigaction *, struct sigaction *);
typedef sighandler_t signal_fn(int, sighandler_t);
typedef int signal_number_fn(int);
typedef int siginterrupt_fn(int, int);
typedef int sigaltstack_fn(const stack_t *, stack_t *);

sighandler_t bsd_signal(int number, sighandler_t handler);
sighandler_t __sysv_signal(int number, sighandler_t handler);
int __sigaction(int, const struct sigaction *restrict, struct sigaction *restrict);

/* What the handler may take of an alternate stack, next to the kernel's frame. */
#define HANDLER_STACK_BYTES  4096
#define FRAME_BYTES_AT_LEAST 2048

static int is_ours(int signal)
{
	return signal == SAMPLER_SIGNAL && sampler_owns_signal();
}

static int next_sigaction(int signal, const struct sigaction *new_action, struct sigaction *old)
{
	static AT_START sigaction_fn *next;

	if (!next)
		next = (sigaction_fn *)preload_next("sigaction");
	return next(signal, new_action, old);
}

__attribute__((constructor(101))) static void set_libc_calls(void)
{
	libc_calls.sigaction = next_sigaction;
}

static void ask(const struct sigaction *action)
{
	host_set(action);
	own_signal_retake();
}

/* Another library's constructor may come here before ours has run. */
static int change_action(int signal, const struct sigaction *new_action, struct sigaction *old)
{
	set_libc_calls();
	return guard_sigaction(signal, new_action, old);
}

PRELOAD_EXPORT int sigaction(int signal, const struct sigaction *restrict new_action,
	struct sigaction *restrict old_action)
{
	struct sigaction asked;

	/* CPython asks for its signals as soon as it can run. */
	preload_python_install();
	if (!is_ours(signal))
		return change_action(signal, new_action, old_action);
	if (new_action)
		asked = *new_action;
	if (old_action)
		host_get(old_action);
	if (new_action)
		ask(&asked);
	return 0;
}

PRELOAD_EXPORT int __sigaction(int signal, const struct sigaction *restrict new_action,
	struct sigaction *restrict old_action)
{
	return sigaction(signal, new_action, old_action);
}

static sighandler_t change_handler(sighandler_t handler, int flags)
{
	struct sigaction before, action = {.sa_handler = handler, .sa_flags = flags};

	if (handler == SIG_ERR) {
		errno = EINVAL;
		return SIG_ERR;
	}
	host_get(&before);
	ask(&action);
	return before.sa_handler;
}

/* libc has signal() under several names, and programs of strict C get the System V one. */
#define SIGNAL_FUNCTION(name, flags)                                         \
	PRELOAD_EXPORT sighandler_t name(int number, sighandler_t handler)   \
	{                                                                    \
		static signal_fn *next;                                      \
									     \
		if (is_ours(number))                                         \
			return change_handler(handler, flags);               \
		if (!next)                                                   \
			next = (signal_fn *)preload_next(#name);             \
		return guard_told(number, next(number, handler));            \
	}

SIGNAL_FUNCTION(signal, SA_RESTART)
SIGNAL_FUNCTION(bsd_signal, SA_RESTART)
SIGNAL_FUNCTION(ssignal, SA_RESTART)
SIGNAL_FUNCTION(sysv_signal, (int)SA_RESETHAND | SA_NODEFER)
SIGNAL_FUNCTION(__sysv_signal, (int)SA_RESETHAND | SA_NODEFER)

static int change_mask(int how)
{
	sigset_t set = {0};

	*sampler_mask(&set) = SAMPLER_SIGNAL_BIT;
	return sigprocmask(how, &set, NULL);
}

PRELOAD_EXPORT sighandler_t sigset(int number, sighandler_t handler)
{
	static signal_fn *next;
	struct sigaction before;
	sigset_t blocked;

	if (!is_ours(number)) {
		if (!next)
			next = (signal_fn *)preload_next("sigset");
		return guard_told(number, next(number, handler));
	}
	host_get(&before);
	if (handler != SIG_HOLD && change_handler(handler, 0) == SIG_ERR)
		return SIG_ERR;
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	change_mask(handler == SIG_HOLD ? SIG_BLOCK : SIG_UNBLOCK);
	return *sampler_mask(&blocked) & SAMPLER_SIGNAL_BIT ? SIG_HOLD : before.sa_handler;
}

PRELOAD_EXPORT int sigignore(int number)
{
	static signal_number_fn *next;

	if (is_ours(number)) {
		change_handler(SIG_IGN, 0);
		return 0;
	}
	if (!next)
		next = (signal_number_fn *)preload_next("sigignore");
	return next(number);
}

PRELOAD_EXPORT int siginterrupt(int number, int interrupt)
{
	static siginterrupt_fn *next;
	struct sigaction action;

	if (!is_ours(number)) {
		if (!next)
			next = (siginterrupt_fn *)preload_next("siginterrupt");
		return next(number, interrupt);
	}
	host_get(&action);
	if (interrupt)
		action.sa_flags &= ~SA_RESTART;
	else
		action.sa_flags |= SA_RESTART;
	ask(&action);
	return 0;
}

/* A stack too small for our handler: from then on it runs where the program runs. */
PRELOAD_EXPORT int sigaltstack(const stack_t *restrict stack, stack_t *restrict old_stack)
{
	static sigaltstack_fn *next;
	size_t frame_bytes = getauxval(AT_MINSIGSTKSZ);

	if (!next)
		next = (sigaltstack_fn *)preload_next("sigaltstack");
	if (frame_bytes < FRAME_BYTES_AT_LEAST)
		frame_bytes = FRAME_BYTES_AT_LEAST;
	if (stack && !(stack->ss_flags & SS_DISABLE) &&
		stack->ss_size < frame_bytes + HANDLER_STACK_BYTES &&
		sampler_owns_signal())
		own_signal_avoid_alternate_stacks();
	return next(stack, old_stack);
}
