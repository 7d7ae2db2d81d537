/* SPDX-License-Identifier: MIT */
/*
 * SIGPROF stays ours while the program believes that it is its own: what it asks for is kept and
 * given back, and its masks lose the signal. A program that resets every signal at start, as node
 * and shells do, would otherwise be killed by our timer.
 */
#include <signal.h>
#include <stddef.h>

#include "libprof/preload/preload.h"

typedef int sigaction_fn(int, const struct sigaction *, struct sigaction *);
typedef int sigmask_fn(int, const sigset_t *, sigset_t *);
typedef sighandler_t signal_fn(int, sighandler_t);

static int is_ours(int signal)
{
	return signal == SAMPLER_SIGNAL && sampler_is_this_process();
}

PRELOAD_EXPORT int sigaction(
	int signal, const struct sigaction *restrict new_action, struct sigaction *restrict old_action)
{
	static sigaction_fn *next;
	struct sigaction asked;

	if (!is_ours(signal)) {
		if (!next)
			next = (sigaction_fn *)preload_next("sigaction");
		return next(signal, new_action, old_action);
	}
	if (new_action)
		asked = *new_action;
	if (old_action)
		*old_action = sampler_host_action;
	if (new_action)
		sampler_host_action = asked;
	return 0;
}

static sighandler_t host_handler(sighandler_t handler, int flags)
{
	sighandler_t before = sampler_host_action.sa_handler;

	sampler_host_action.sa_handler = handler;
	sampler_host_action.sa_flags = flags;
	sigemptyset(&sampler_host_action.sa_mask);
	return before;
}

PRELOAD_EXPORT sighandler_t signal(int number, sighandler_t handler)
{
	static signal_fn *next;

	if (is_ours(number))
		return host_handler(handler, SA_RESTART);
	if (!next)
		next = (signal_fn *)preload_next("signal");
	return next(number, handler);
}

PRELOAD_EXPORT sighandler_t sysv_signal(int number, sighandler_t handler)
{
	static signal_fn *next;

	if (is_ours(number))
		return host_handler(handler, (int)SA_RESETHAND | SA_NODEFER);
	if (!next)
		next = (signal_fn *)preload_next("sysv_signal");
	return next(number, handler);
}

/* @set without our signal, in @copy, when it would be blocked. */
static const sigset_t *without_ours(int how, const sigset_t *set, sigset_t *copy)
{
	if (!set || how == SIG_UNBLOCK || !sampler.arena || !sigismember(set, SAMPLER_SIGNAL))
		return set;
	*copy = *set;
	sigdelset(copy, SAMPLER_SIGNAL);
	return copy;
}

PRELOAD_EXPORT int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old_set)
{
	static sigmask_fn *next;
	sigset_t copy;

	if (!next)
		next = (sigmask_fn *)preload_next("sigprocmask");
	return next(how, without_ours(how, set, &copy), old_set);
}

PRELOAD_EXPORT int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old_set)
{
	static sigmask_fn *next;
	sigset_t copy;

	if (!next)
		next = (sigmask_fn *)preload_next("pthread_sigmask");
	return next(how, without_ours(how, set, &copy), old_set);
}
