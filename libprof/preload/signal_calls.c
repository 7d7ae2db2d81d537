/* SPDX-License-Identifier: MIT */
/*
 * Handle rt_sigaction and rt_sigprocmask calls that a program makes by syscall(2), as language
 * runtimes do that reset or block all signals. For the sampling signal they must do what the
 * interposed sigaction() and pthread_sigmask() do, because the signal's default action would kill
 * the program.
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

#include "arch/syscall.h"
#include "libprof/preload/preload.h"
#include "libprof/sampler/own_signal.h"

#define NO_SIGNAL 65 /* higher than any signal */
/* Not a valid first argument of rt_sigprocmask. */
#define NO_HOW 3

static struct sigaction action_from_kernel(const struct kernel_action *kernel)
{
	struct sigaction action = {.sa_flags = (int)kernel->flags, .sa_restorer = kernel->restorer};

	action.sa_handler = (sighandler_t)kernel->handler;
	*sampler_mask(&action.sa_mask) = kernel->mask;
	return action;
}

static struct kernel_action action_to_kernel(const struct sigaction *action)
{
	return (struct kernel_action){
		.handler = (uintptr_t)action->sa_handler,
		.flags = (unsigned int)action->sa_flags,
		.restorer = action->sa_restorer,
		.mask = *sampler_mask(&action->sa_mask),
	};
}

/*
 * Do what sigaction() does, with the system call's arguments @a. First make the call with an
 * invalid signal number, which changes nothing: if a pointer or the size is bad, the kernel returns
 * its own error. Returns 0 or -errno.
 */
static long change_action(const unsigned long a[4])
{
	const struct kernel_action *asked = (const struct kernel_action *)a[1];
	struct kernel_action *old = (struct kernel_action *)a[2];
	struct sigaction new_action, before;
	long error = arch_syscall4(SYS_rt_sigaction, NO_SIGNAL, asked, NULL, a[3]);

	if (error != -EINVAL || a[3] != sizeof(asked->mask))
		return error;
	if (asked)
		new_action = action_from_kernel(asked);
	error = old ? arch_syscall4(SYS_rt_sigaction, sampler_signal(), NULL, old, a[3]) : 0;
	if (error)
		return error;
	sigaction(sampler_signal(), asked ? &new_action : NULL, &before);
	if (old)
		*old = action_to_kernel(&before);
	return 0;
}

/*
 * Do what rt_sigprocmask does, with the arguments @a, but for the sampling signal do what the
 * interposed pthread_sigmask() does (masks.c). Change the other signals by the system call, because
 * pthread_sigmask() ignores libc's internal signals.
 *
 * First make the call with an invalid `how`, which changes nothing: if a pointer or the size is
 * bad, the kernel returns its own error. Returns 0 or -errno.
 */
static long change_mask(const unsigned long a[4])
{
	int how = (int)a[0], is_asked;
	const uint64_t *asked = (const uint64_t *)a[1];
	uint64_t *old = (uint64_t *)a[2];
	uint64_t mask = 0;
	sigset_t ours = {0}, before;
	long error =
		arch_syscall4(SYS_rt_sigprocmask, asked ? NO_HOW : SIG_BLOCK, asked, NULL, a[3]);

	if (asked ? error != -EINVAL || a[3] != sizeof(mask) || how < 0 || how >= NO_HOW : error)
		return error;
	if (asked)
		mask = *asked;
	error = old ? arch_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, NULL, old, a[3]) : 0;
	if (error)
		return error;
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	if (old)
		*old = *sampler_mask(&before);
	if (!asked)
		return 0;
	*sampler_mask(&ours) = sampler_signal_bit();
	is_asked = (mask & sampler_signal_bit()) != 0;
	mask &= ~sampler_signal_bit();
	if (how == SIG_SETMASK)
		pthread_sigmask(is_asked ? SIG_BLOCK : SIG_UNBLOCK, &ours, NULL);
	else if (is_asked)
		pthread_sigmask(how, &ours, NULL);
	return arch_syscall4(SYS_rt_sigprocmask, how, &mask, NULL, sizeof(mask));
}

int preload_signal_call(long number, const unsigned long a[4], long *result)
{
	const struct sampler_thread *thread;

	if (!sampler_owns_signal() || sampler_is_hosted())
		return 0;
	if (number == SYS_rt_sigaction && (int)a[0] == sampler_signal()) {
		*result = change_action(a);
	} else if (number == SYS_rt_sigprocmask) {
		thread = preload_thread();
		if (!thread || !thread->active)
			return 0;
		*result = change_mask(a);
	} else {
		return 0;
	}
	if (*result < 0) {
		errno = (int)-*result;
		*result = -1;
	}
	return 1;
}
