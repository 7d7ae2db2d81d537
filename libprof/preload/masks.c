/* SPDX-License-Identifier: MIT */
/*
 * Interpose the calls that change a signal mask. If a sampled thread blocks the sampling signal,
 * the kernel's mask still unblocks it, so that sampling continues; sampler_thread.held is set
 * instead. The mask that the program reads contains the signal. If a SIGVTALRM of the program's own
 * arrives while `held` is set, host.c blocks the signal in the kernel and sends it again.
 *
 * Limit: masks that the kernel and libc save and restore do not contain `held`. So after
 * siglongjmp(), setcontext() or the return from a signal handler, SIGVTALRM may seem blocked
 * although the restored mask allows it, or the reverse.
 */
#include <signal.h>
#include <stddef.h>

#include "arch/syscall.h"
#include "libprof/at_start.h"
#include "libprof/preload/preload.h"
#include "libprof/sampler/own_signal.h"

typedef int sigmask_fn(int, const sigset_t *, sigset_t *);

static uint32_t held_after(int how, int is_asked, uint32_t held)
{
	if (how == SIG_BLOCK)
		return held || is_asked;
	if (how == SIG_UNBLOCK)
		return held && !is_asked;
	return how == SIG_SETMASK ? (uint32_t)is_asked : held;
}

/*
 * Change the mask of a vfork child. Such a child is not sampled, so the kernel gets the mask
 * unchanged. If `held` is set in the parent, the mask that the child reads also contains the
 * sampling signal, until the child itself blocks the signal or sets a whole mask.
 */
static int change_childs_mask(sigmask_fn *next, struct sampler_thread *thread, int how,
	const sigset_t *set, sigset_t *old_set)
{
	int is_held = sampler_is_held(thread);
	int is_asked = set && (*sampler_mask(set) & sampler_signal_bit()) != 0;
	int error = next(how, set, old_set);

	if (error || !is_held)
		return error;
	if (set && (is_asked || how == SIG_SETMASK))
		__atomic_store_n(
			&thread->unheld_pid, (uint32_t)arch_syscall0(SYS_getpid), __ATOMIC_RELAXED);
	if (old_set)
		*sampler_mask(old_set) |= sampler_signal_bit();
	return 0;
}

static int change_mask(sigmask_fn *next, int how, const sigset_t *set, sigset_t *old_set)
{
	/* Do not change the masks of a program that profiles itself with this library. */
	struct sampler_thread *thread = sampler_is_hosted() ? NULL : preload_thread();
	int is_asked = set && (*sampler_mask(set) & sampler_signal_bit()) != 0;
	sigset_t copy;
	uint32_t held;
	int error;

	if (!thread || (!is_asked && !thread->held) || !thread->active)
		return next(how, set, old_set);
	if (!sampler_is_this_process())
		return change_childs_mask(next, thread, how, set, old_set);
	held = thread->held;
	if (is_asked && how != SIG_UNBLOCK) {
		copy = *set;
		*sampler_mask(&copy) &= ~sampler_signal_bit();
		set = &copy;
	}
	/* Set `held` before the call, because a pending signal may be delivered during the call. */
	if (set)
		__atomic_store_n(&thread->held, held_after(how, is_asked, held), __ATOMIC_RELAXED);
	error = next(how, set, old_set);
	if (error)
		__atomic_store_n(&thread->held, held, __ATOMIC_RELAXED);
	else if (old_set && held)
		*sampler_mask(old_set) |= sampler_signal_bit();
	return error;
}

static AT_START sigmask_fn *next_sigprocmask;
static AT_START sigmask_fn *next_pthread_sigmask;

void preload_resolve_masks(void)
{
	if (!next_sigprocmask)
		next_sigprocmask = (sigmask_fn *)preload_next("sigprocmask");
	if (!next_pthread_sigmask)
		next_pthread_sigmask = (sigmask_fn *)preload_next("pthread_sigmask");
	preload_resolve_sigsuspend();
}

PRELOAD_EXPORT int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old_set)
{
	preload_resolve_masks();
	return change_mask(next_sigprocmask, how, set, old_set);
}

PRELOAD_EXPORT int pthread_sigmask(
	int how, const sigset_t *restrict set, sigset_t *restrict old_set)
{
	preload_resolve_masks();
	return change_mask(next_pthread_sigmask, how, set, old_set);
}

/* ---- older functions ------------------------------------------------------------------------- */
/*
 * These functions are interposed because libc's versions change the kernel's mask without calling
 * sigprocmask().
 */

/* @mask has one bit for each of the signals 1 to 32. */
static int change_old_mask(int how, int mask)
{
	sigset_t set, before;

	sigemptyset(&set);
	*sampler_mask(&set) = (unsigned int)mask;
	return sigprocmask(how, &set, &before) ? -1 : (int)*sampler_mask(&before);
}

PRELOAD_EXPORT int sigblock(int mask)
{
	return change_old_mask(SIG_BLOCK, mask);
}

PRELOAD_EXPORT int sigsetmask(int mask)
{
	return change_old_mask(SIG_SETMASK, mask);
}

PRELOAD_EXPORT int siggetmask(void)
{
	return change_old_mask(SIG_BLOCK, 0);
}

static int change_one(int how, int number)
{
	sigset_t set;

	sigemptyset(&set);
	return sigaddset(&set, number) ? -1 : sigprocmask(how, &set, NULL);
}

PRELOAD_EXPORT int sighold(int number)
{
	return change_one(SIG_BLOCK, number);
}

PRELOAD_EXPORT int sigrelse(int number)
{
	return change_one(SIG_UNBLOCK, number);
}
