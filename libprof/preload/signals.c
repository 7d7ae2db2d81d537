/* SPDX-License-Identifier: MIT */
/*
 * The program may set an action for SIGVTALRM, but our handler stays installed: the program's
 * action is only stored, and returned when it asks. A program that resets every signal at start, as
 * node and shells do, would otherwise be killed by our timer.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <time.h>

#include "arch/syscall.h"
#include "arch/walk_stack.h"
#include "libprof/at_start.h"
#include "libprof/preload/preload.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/events.h"
#include "libprof/sampler/host.h"
#include "libprof/sampler/own_signal.h"
#include "libprof/sampler/own_threads.h"

/* ---- masks ----------------------------------------------------------------------------------- */
/*
 * Signal masks: a sampled thread never really blocks our signal for long, but the program does not
 * notice. What it asked for is kept in struct sampler_thread and returned when it asks; host.c
 * applies it once a SIGVTALRM of the program's own comes.
 */

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
 * A vfork child's own mask is the kernel's business, since nothing samples it; only what it got
 * from its parent's is believed, until it says what it wants.
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
	/* A program that samples itself has its masks as it wants them. */
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
	/* Before the call: what is pending may be delivered in it. */
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

/* ---- dispositions ---------------------------------------------------------------------------- */

typedef int sigaction_fn(int, const struct sigaction *, struct sigaction *);
typedef sighandler_t signal_fn(int, sighandler_t);
typedef int signal_number_fn(int);
typedef int siginterrupt_fn(int, int);
typedef int sigaltstack_fn(const stack_t *, stack_t *);

sighandler_t bsd_signal(int number, sighandler_t handler);
sighandler_t __sysv_signal(int number, sighandler_t handler);
int __sigaction(int, const struct sigaction *restrict, struct sigaction *restrict);

static int is_ours(int signal)
{
	return signal == sampler_signal() && sampler_owns_signal();
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

static void change_program_action(const struct sigaction *action)
{
	host_set(action);
	own_signal_reinstall();
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

	if (!is_ours(signal))
		return change_action(signal, new_action, old_action);
	if (new_action)
		asked = *new_action;
	if (old_action)
		host_get(old_action);
	if (new_action)
		change_program_action(&asked);
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
	change_program_action(&action);
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
		return guard_program_handler(number, next(number, handler)); \
	}

SIGNAL_FUNCTION(signal, SA_RESTART)
SIGNAL_FUNCTION(bsd_signal, SA_RESTART)
SIGNAL_FUNCTION(ssignal, SA_RESTART)
SIGNAL_FUNCTION(sysv_signal, (int)SA_RESETHAND | SA_NODEFER)
SIGNAL_FUNCTION(__sysv_signal, (int)SA_RESETHAND | SA_NODEFER)

static int change_handler_mask(int how)
{
	sigset_t set = {0};

	*sampler_mask(&set) = sampler_signal_bit();
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
		return guard_program_handler(number, next(number, handler));
	}
	host_get(&before);
	if (handler != SIG_HOLD && change_handler(handler, 0) == SIG_ERR)
		return SIG_ERR;
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	change_handler_mask(handler == SIG_HOLD ? SIG_BLOCK : SIG_UNBLOCK);
	return *sampler_mask(&blocked) & sampler_signal_bit() ? SIG_HOLD : before.sa_handler;
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
	change_program_action(&action);
	return 0;
}

/* Stack that the handler uses below the kernel's frame; tests/lint/lint_stack.py checks it. */
#define HANDLER_BYTES	   640
#define KERNEL_MINSIGSTKSZ 2048 /* the kernel refuses a smaller alternate stack */

static uint32_t is_any_small; /* atomic: some thread has set a stack that is too small */

/*
 * AT_MINSIGSTKSZ is never less than a signal frame. Compare with it first, because computing the
 * exact size takes instructions that are slow in a virtual machine.
 */
static int is_small(const stack_t *stack)
{
	size_t most_bytes = getauxval(AT_MINSIGSTKSZ);

	if (stack->ss_flags & SS_DISABLE ||
		(most_bytes && stack->ss_size >= most_bytes + HANDLER_BYTES))
		return 0;
	return stack->ss_size < arch_signal_frame_bytes() + HANDLER_BYTES;
}

int preload_has_small_stack(void)
{
	stack_t stack;

	return __atomic_load_n(&is_any_small, __ATOMIC_RELAXED) &&
	       !arch_syscall2(SYS_sigaltstack, NULL, &stack) && is_small(&stack);
}

/*
 * The kernel kills a process if a signal's frame does not fit on the alternate stack. So end the
 * sampling of a thread before it sets such a small stack.
 */
static void end_before_small_stack(void)
{
	struct sampler_thread *thread = preload_thread();
	int may_unblock;

	if (!sampler_is_this_process())
		return;
	__atomic_store_n(&is_any_small, 1, __ATOMIC_RELAXED);
	if (!thread || !thread->active)
		return;
	__atomic_fetch_add(&sampler.slot->small_stacks, 1, __ATOMIC_RELAXED);
	events_end();
	may_unblock = !thread->held && !__atomic_load_n(&thread->ring->has_event, __ATOMIC_SEQ_CST);
	sampler_thread_end(thread);
	preload_set_thread(NULL);
	/* That blocked our signal for good, but this thread goes on. */
	if (may_unblock)
		change_handler_mask(SIG_UNBLOCK);
}

PRELOAD_EXPORT int sigaltstack(const stack_t *restrict stack, stack_t *restrict old_stack)
{
	static sigaltstack_fn *next;

	if (!next)
		next = (sigaltstack_fn *)preload_next("sigaltstack");
	if (stack && is_small(stack) && stack->ss_size >= KERNEL_MINSIGSTKSZ)
		end_before_small_stack();
	return next(stack, old_stack);
}
