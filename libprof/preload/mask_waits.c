/* SPDX-License-Identifier: MIT */
/*
 * Interpose calls that set a signal mask while they wait, or that wait for a signal. If a sampled
 * thread blocks the sampling signal, it only seems blocked to the program (masks.c): the kernel
 * does not block it, so a timer of the library may expire during the wait.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include "arch/syscall.h"
#include "libprof/at_start.h"
#include "libprof/preload/preload.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/confined.h"
#include "libprof/sampler/own_signal.h"

typedef int sigsuspend_fn(const sigset_t *);
typedef int sigtimedwait_fn(const sigset_t *, siginfo_t *, const struct timespec *);
typedef int pselect_fn(
	int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *);
typedef int ppoll_fn(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
typedef int ppoll_chk_fn(
	struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);
typedef int epoll_pwait_fn(int, struct epoll_event *, int, int, const sigset_t *);
typedef int epoll_pwait2_fn(
	int, struct epoll_event *, int, const struct timespec *, const sigset_t *);

int __sigsuspend(const sigset_t *mask);
int __sigpause(int signal_or_mask, int is_signal);
int sigpause_signal(int number) __asm__("__xpg_sigpause");
int sigpause_mask(int mask) __asm__("sigpause");
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
	const sigset_t *mask, size_t bytes);

/* ---- calls that set a mask while they wait --------------------------------------------------- */

/* State that end_wait() restores. @thread is NULL if begin_wait() changed nothing. */
struct wait {
	struct sampler_thread *thread;
	uint32_t was_held;
	/* The thread's state before begin_wait(): a signal handler may wait during another wait. */
	struct sampler_wait before;
};

/*
 * Call this before a wait that sets @mask. If the program believes that the thread blocks the
 * sampling signal (masks.c), and @mask unblocks the signal, block the signal in the kernel until
 * the wait sets @mask. Then a SIGVTALRM of the program's own ends the wait, as the program expects,
 * and host.c calls the program's handler. @call is the waiting system call's number, @first its
 * first argument.
 */
static struct wait begin_wait(const sigset_t *mask, long call, uint64_t first)
{
	struct sampler_thread *thread = mask && !sampler_is_hosted() ? preload_thread() : NULL;
	struct wait wait = {.thread = NULL};
	uint64_t ours = sampler_signal_bit();

	if (!thread || (!thread->held && !thread->wait.is_begun) || !thread->active ||
		!sampler_is_this_process() || confined_is_reported())
		return wait;
	wait.thread = thread;
	wait.was_held = thread->held;
	wait.before = thread->wait;
	if (thread->held && !(*sampler_mask(mask) & ours)) {
		arch_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, &ours, NULL, sizeof(ours));
		thread->wait = (struct sampler_wait){1, call, first, *sampler_mask(mask)};
		__atomic_store_n(&thread->held, 0, __ATOMIC_RELAXED);
	} else {
		thread->wait.is_begun = 0;
	}
	return wait;
}

/*
 * Undo begin_wait(). If a SIGVTALRM is pending that @mask did not allow, the unblocking delivers
 * it: host.c then blocks the signal and sends it again.
 */
static void end_wait(const struct wait *wait)
{
	struct sampler_thread *thread = wait->thread;
	uint64_t ours = sampler_signal_bit();

	if (!thread)
		return;
	if (thread->wait.is_begun) {
		__atomic_store_n(&thread->held, wait->was_held, __ATOMIC_RELAXED);
		if (!confined_is_reported())
			arch_syscall4(SYS_rt_sigprocmask, SIG_UNBLOCK, &ours, NULL, sizeof(ours));
	}
	thread->wait = wait->before;
}

/*
 * Call @next with the arguments (@mask is one of them) between begin_wait() and end_wait(), and
 * return its result.
 */
#define WAIT(mask, call, next, first, ...)                                     \
	do {                                                                   \
		struct wait wait = begin_wait(mask, call, (uintptr_t)(first)); \
		int result = next(first, __VA_ARGS__);                         \
                                                                               \
		end_wait(&wait);                                               \
		return result;                                                 \
	} while (0)

static AT_START sigsuspend_fn *next_sigsuspend;

void preload_resolve_sigsuspend(void)
{
	if (!next_sigsuspend)
		next_sigsuspend = (sigsuspend_fn *)preload_next("sigsuspend");
}

PRELOAD_EXPORT int sigsuspend(const sigset_t *mask)
{
	struct wait wait;
	int result;

	preload_resolve_sigsuspend();
	wait = begin_wait(mask, SYS_rt_sigsuspend, (uintptr_t)mask);
	result = next_sigsuspend(mask);
	end_wait(&wait);
	return result;
}

PRELOAD_EXPORT int __sigsuspend(const sigset_t *mask)
{
	return sigsuspend(mask);
}

PRELOAD_EXPORT int sigpause_signal(int number)
{
	sigset_t set;

	sigprocmask(SIG_BLOCK, NULL, &set);
	return sigdelset(&set, number) ? -1 : sigsuspend(&set);
}

PRELOAD_EXPORT int sigpause_mask(int mask)
{
	sigset_t set;

	sigemptyset(&set);
	*sampler_mask(&set) = (unsigned int)mask;
	return sigsuspend(&set);
}

PRELOAD_EXPORT int __sigpause(int signal_or_mask, int is_signal)
{
	return is_signal ? sigpause_signal(signal_or_mask) : sigpause_mask(signal_or_mask);
}

PRELOAD_EXPORT int pselect(int count, fd_set *restrict reads, fd_set *restrict writes,
	fd_set *restrict excepts, const struct timespec *restrict timeout,
	const sigset_t *restrict mask)
{
	static pselect_fn *next;

	if (!next)
		next = (pselect_fn *)preload_next("pselect");
	WAIT(mask, SYS_pselect6, next, count, reads, writes, excepts, timeout, mask);
}

PRELOAD_EXPORT int ppoll(
	struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
	static ppoll_fn *next;

	if (!next)
		next = (ppoll_fn *)preload_next("ppoll");
	WAIT(mask, SYS_ppoll, next, fds, count, timeout, mask);
}

/* The variant of ppoll() that programs call if they are built with _FORTIFY_SOURCE. */
PRELOAD_EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
	const sigset_t *mask, size_t bytes)
{
	static ppoll_chk_fn *next;

	if (!next)
		next = (ppoll_chk_fn *)preload_next("__ppoll_chk");
	WAIT(mask, SYS_ppoll, next, fds, count, timeout, mask, bytes);
}

PRELOAD_EXPORT int epoll_pwait(
	int fd, struct epoll_event *events, int most, int timeout_ms, const sigset_t *mask)
{
	static epoll_pwait_fn *next;

	if (!next)
		next = (epoll_pwait_fn *)preload_next("epoll_pwait");
	WAIT(mask, SYS_epoll_pwait, next, fd, events, most, timeout_ms, mask);
}

PRELOAD_EXPORT int epoll_pwait2(int fd, struct epoll_event *events, int most,
	const struct timespec *timeout, const sigset_t *mask)
{
	static epoll_pwait2_fn *next;

	if (!next)
		next = (epoll_pwait2_fn *)preload_next("epoll_pwait2");
	WAIT(mask, SYS_epoll_pwait2, next, fd, events, most, timeout, mask);
}

/* ---- calls that wait for a signal ------------------------------------------------------------ */

/*
 * If the wait returns a signal of one of the library's timers, discard the signal and continue to
 * wait. The library's handler was not called for it, so the weight of the signal is added later.
 */
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
		if (number != sampler_signal() || !sampler_thread_of(&taken))
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
