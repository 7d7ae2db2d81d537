/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: called at the end of the handler. */
/*
 * A program may interrupt a blocking system call by a signal whose handler has no SA_RESTART, for
 * example by alarm() before read(), and expects EINTR. If a sampling timer expires during that
 * call, both signals are pending when the call is interrupted. The kernel delivers the timer's
 * signal first, because it was sent to the thread and not to the process. The sampling handler has
 * SA_RESTART, so the kernel has set the thread back to the system call instruction. After both
 * handlers the call would be restarted, and perhaps never end. So make the call fail here, as the
 * kernel would have done without sampling.
 *
 * Only calls that SA_RESTART restarts are considered. Others fail with EINTR in any case or, like
 * fork(2), never do.
 *
 * The opposite happens to calls that wait with a signal mask of their own, such as sigsuspend(), if
 * that mask unblocks the sampling signal, which the program otherwise blocks. mask_waits.c really
 * blocks the signal before such a call, so a sampling timer may have expired meanwhile. Then the
 * call fails at once with EINTR, although none of the program's handlers ran. So make the thread
 * repeat the call.
 */
#include "libprof/sampler/interrupted.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "arch/handler.h"
#include "arch/syscall.h"
#include "libprof/sampler/confined.h"
#include "libprof/sampler/own_signal.h"
#include "libprof/sampler/sampler.h"

/*
 * Returns 1 if SA_RESTART restarts system call @nr (-1: none), whose second argument is @second.
 * Source: signal(7), "Interruption of system calls and library functions by signal handlers".
 */
static int is_restartable(long nr, uint64_t second)
{
	switch (nr) {
#ifdef SYS_open
	case SYS_open:
	case SYS_creat:
#endif
	case SYS_openat:
	case SYS_openat2:
	case SYS_read:
	case SYS_readv:
	case SYS_write:
	case SYS_writev:
	case SYS_ioctl:
	case SYS_wait4:
	case SYS_waitid:
	case SYS_accept:
	case SYS_accept4:
	case SYS_connect:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_sendfile:
	case SYS_splice:
	case SYS_tee:
	case SYS_vmsplice:
	case SYS_flock:
	case SYS_fcntl:
	case SYS_mq_timedreceive:
	case SYS_mq_timedsend:
	case SYS_getrandom:
		return 1;
	/* Waits for priority-inheriting locks are always restarted, so they are not listed here. */
	case SYS_futex:
		return (second & FUTEX_CMD_MASK) == FUTEX_WAIT ||
		       (second & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
	default:
		return 0;
	}
}

/* Returns 1 if one of @signals is pending and its handler has no SA_RESTART. */
static int breaks_off(uint64_t signals)
{
	struct kernel_action action;
	uint64_t pending = 0;

	arch_syscall2(SYS_rt_sigpending, &pending, sizeof(pending));
	for (pending &= signals; pending; pending &= pending - 1) {
		action.handler = 0;
		arch_syscall4(SYS_rt_sigaction, __builtin_ctzll(pending) + 1, NULL, &action,
			sizeof(action.mask));
		if (action.handler > (uintptr_t)SIG_IGN && !(action.flags & SA_RESTART))
			return 1;
	}
	return 0;
}

void interrupted_fail(void *ucontext)
{
	uint64_t blocked = *sampler_mask(&((ucontext_t *)ucontext)->uc_sigmask), second;
	long nr = arch_handler_repeats(ucontext, &second);

	if (is_restartable(nr, second) && confined_may(CONFINED_RESTARTS) &&
		!confined_is_reported() && breaks_off(~blocked & ~sampler_signal_bit()))
		arch_handler_fail(ucontext, -EINTR);
}

int interrupted_wait(const struct sampler_thread *thread, const void *ucontext)
{
	const ucontext_t *context = ucontext;

	/*
	 * The sampling signal is blocked in the interrupted mask, so it can only have arrived in a
	 * call that sets another mask.
	 */
	return thread->wait.is_begun &&
	       *sampler_mask(&context->uc_sigmask) & sampler_signal_bit() &&
	       (long)arch_ucontext_get(ucontext, 0) == -EINTR;
}

void interrupted_repeat(const struct sampler_thread *thread, void *ucontext)
{
	/*
	 * Do not repeat the call if timers use CLOCK_MONOTONIC: they expire while the thread
	 * sleeps, so the call might never end.
	 */
	if (!sampler.is_elapsed && interrupted_wait(thread, ucontext))
		arch_handler_repeat(ucontext, thread->wait.call, thread->wait.first);
}
