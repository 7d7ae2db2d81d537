/* SPDX-License-Identifier: MIT */
/*
 * Signal masks: a sampled thread never blocks our signal for long, and never notices. What it asked
 * for is kept in struct sampler_thread and told when it asks; host.c honours it once a SIGPROF of
 * the program's own comes.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

#include "arch/syscall.h"
#include "libprof/at_start.h"
#include "libprof/preload/preload.h"
#include "libprof/sampler/clock.h"

typedef int sigmask_fn(int, const sigset_t *, sigset_t *);
typedef int sigwait_fn(const sigset_t *, int *);
typedef int sigwaitinfo_fn(const sigset_t *, siginfo_t *);
typedef int sigtimedwait_fn(const sigset_t *, siginfo_t *, const struct timespec *);

static uint32_t held_after(int how, int is_asked, uint32_t held)
{
	if (how == SIG_BLOCK)
		return held || is_asked;
	if (how == SIG_UNBLOCK)
		return held && !is_asked;
	return how == SIG_SETMASK ? (uint32_t)is_asked : held;
}

/*
 * A vfork child's own mask is the kernel's business, since nothing samples it; only what it got from
 * its parent's is believed, until it says what it wants.
 */
static int change_childs_mask(sigmask_fn *next, struct sampler_thread *thread, int how,
	const sigset_t *set, sigset_t *old_set)
{
	int is_held = sampler_is_held(thread);
	int is_asked = set && (*sampler_mask(set) & SAMPLER_SIGNAL_BIT) != 0;
	int error = next(how, set, old_set);

	if (error || !is_held)
		return error;
	if (set && (is_asked || how == SIG_SETMASK))
		__atomic_store_n(
			&thread->unheld_pid, (uint32_t)arch_syscall0(SYS_getpid), __ATOMIC_RELAXED);
	if (old_set)
		*sampler_mask(old_set) |= SAMPLER_SIGNAL_BIT;
	return 0;
}

static int change_mask(sigmask_fn *next, int how, const sigset_t *set, sigset_t *old_set)
{
	/* A program that samples itself has its masks as it wants them. */
	struct sampler_thread *thread = sampler_is_hosted() ? NULL : preload_thread();
	int is_asked = set && (*sampler_mask(set) & SAMPLER_SIGNAL_BIT) != 0;
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
		*sampler_mask(&copy) &= ~SAMPLER_SIGNAL_BIT;
		set = &copy;
	}
	/* Before the call: what is pending may be delivered in it. */
	if (set)
		__atomic_store_n(&thread->held, held_after(how, is_asked, held), __ATOMIC_RELAXED);
	error = next(how, set, old_set);
	if (error)
		__atomic_store_n(&thread->held, held, __ATOMIC_RELAXED);
	else if (old_set && held)
		*sampler_mask(old_set) |= SAMPLER_SIGNAL_BIT;
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

/* Waiting takes a signal without its handler: an expiry of ours is let go, its credit remains. */
PRELOAD_EXPORT int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
	const struct timespec *restrict timeout)
{
	static sigtimedwait_fn *next;
	struct timespec rest;
	siginfo_t taken;
	uint64_t until_ns = 0;
	int number;

	if (!next)
		next = (sigtimedwait_fn *)preload_next("sigtimedwait");
	if (timeout) {
		rest = *timeout;
		until_ns = clock_monotonic_ns() + clock_from_timespec(timeout);
		timeout = &rest;
	}
	for (;;) {
		number = next(set, &taken, timeout);
		if (number != SAMPLER_SIGNAL || !sampler_thread_of(&taken))
			break;
		if (timeout) {
			uint64_t now_ns = clock_monotonic_ns();
			uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;

			rest.tv_sec = (time_t)(left_ns / CLOCK_NS_PER_S);
			rest.tv_nsec = (long)(left_ns % CLOCK_NS_PER_S);
		}
	}
	if (number > 0 && info)
		*info = taken;
	return number;
}

PRELOAD_EXPORT int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
	return sigtimedwait(set, info, NULL);
}

PRELOAD_EXPORT int sigwait(const sigset_t *restrict set, int *restrict number)
{
	int taken;

	do {
		taken = sigtimedwait(set, NULL, NULL);
	} while (taken < 0 && errno == EINTR);
	if (taken < 0)
		return errno;
	*number = taken;
	return 0;
}
