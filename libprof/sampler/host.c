/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * The program's own SIGPROF.
 */
#include "libprof/sampler/host.h"

#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <ucontext.h>

#include "arch/syscall.h"
#include "libprof/at_start.h"
#include "libprof/sampler/guard.h"
#include "libprof/sampler/sampler.h"

/*
 * One thread may change the action while another's handler copies it, and a handler of one action
 * with the flags of another is a wild jump: an action that was published is not written again
 * before KEPT more have come.
 */
#define KEPT 8u
static AT_START struct sigaction kept[KEPT];
static AT_START uint32_t claimed; /* atomic: writers take places in turn */
static AT_START uint32_t current; /* atomic: the place published last */
static uintptr_t between; /* atomic: see host_stands_between(); 0: nobody */

void host_set(const struct sigaction *action)
{
	uint32_t place = __atomic_add_fetch(&claimed, 1, __ATOMIC_RELAXED) % KEPT;

	kept[place] = *action;
	__atomic_store_n(&current, place, __ATOMIC_RELEASE);
}

void host_get(struct sigaction *out)
{
	*out = kept[__atomic_load_n(&current, __ATOMIC_ACQUIRE)];
}

/* An image that quit may have forbidden itself this, too: its handler runs with all blocked. */
static void set_mask(uint64_t mask)
{
	if (__atomic_load_n(&sampler.quit, __ATOMIC_RELAXED))
		return;
	arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
}

/*
 * While a timer's signal is pending the kernel drops any other of that number: expiries of ours are
 * let go, their credit remains. A signal of the program's own that waits already stands for both.
 */
static void make_way(int signal, siginfo_t *info)
{
	const uint64_t only = 1ULL << (signal - 1);
	const struct timespec now = {0, 0};
	siginfo_t pending;

	while (arch_syscall4(SYS_rt_sigtimedwait, &only, &pending, &now, sizeof(only)) == signal) {
		if (!sampler_thread_of(&pending))
			*info = pending;
	}
}

/*
 * The main thread alone may send again what kill() or the kernel sent. For others it becomes a kill()
 * of our own, and who sent it is kept; it is one signal, since the kernel keeps no second one.
 */
static struct {
	uint32_t state; /* atomic: enum relay_state */
	pid_t pid;	/* a fork child has no pending signals, but this memory */
	siginfo_t info;
} relay;
enum relay_state { RELAY_EMPTY, RELAY_BUSY, RELAY_FULL };

static void relay_by_kill(pid_t pid, int signal, const siginfo_t *info)
{
	if (__atomic_exchange_n(&relay.state, RELAY_BUSY, __ATOMIC_ACQUIRE) != RELAY_BUSY) {
		relay.pid = pid;
		relay.info = *info;
		__atomic_store_n(&relay.state, RELAY_FULL, __ATOMIC_RELEASE);
	}
	arch_syscall2(SYS_kill, pid, signal);
}

/* What @info said before relay_by_kill(), if it comes from there. */
static void take_relayed(siginfo_t *info)
{
	uint32_t full = RELAY_FULL;

	if (info->si_code != SI_USER || info->si_pid != (pid_t)arch_syscall0(SYS_getpid) ||
		!__atomic_compare_exchange_n(&relay.state, &full, RELAY_BUSY, 0, __ATOMIC_ACQUIRE,
			__ATOMIC_RELAXED))
		return;
	if (relay.pid == info->si_pid)
		*info = relay.info;
	__atomic_store_n(&relay.state, RELAY_EMPTY, __ATOMIC_RELEASE);
}

/*
 * The thread only believes that it blocks the signal. Now that there is one, block it in earnest
 * and send it again: it stays pending, or finds a thread that waits for it.
 */
static void postpone(int signal, siginfo_t *info, ucontext_t *context)
{
	pid_t pid = (pid_t)arch_syscall0(SYS_getpid);

	make_way(signal, info);
	*sampler_mask(&context->uc_sigmask) |= 1ULL << (signal - 1);
	if (info->si_code == SI_TKILL)
		arch_syscall4(SYS_rt_tgsigqueueinfo, pid, arch_syscall0(SYS_gettid), signal, info);
	else if (arch_syscall3(SYS_rt_sigqueueinfo, pid, signal, info))
		relay_by_kill(pid, signal, info);
}

/* Die of it as without us: it is pending until our handler returns. */
static void die(int signal)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} kernel_default = {SIG_DFL, 0, NULL, 0};

	arch_syscall4(SYS_rt_sigaction, signal, &kernel_default, NULL, 8);
	arch_syscall3(SYS_tgkill, arch_syscall0(SYS_getpid), arch_syscall0(SYS_gettid), signal);
}

/* The program's handler under the mask it would have had. */
static void call(const struct sigaction *action, int signal, siginfo_t *info, ucontext_t *context)
{
	uint64_t mask = *sampler_mask(&context->uc_sigmask) | *sampler_mask(&action->sa_mask);

	if (!(action->sa_flags & SA_NODEFER))
		mask |= 1ULL << (signal - 1);
	if (action->sa_flags & (int)SA_RESETHAND)
		host_set(&(struct sigaction){.sa_flags = action->sa_flags & ~SA_SIGINFO});
	set_mask(mask);
	if (action->sa_flags & SA_SIGINFO)
		action->sa_sigaction(signal, info, context);
	else
		action->sa_handler(signal);
	set_mask(~0ULL);
}

static void act(int signal, siginfo_t *info, ucontext_t *context, uintptr_t first)
{
	const struct sampler_thread *thread =
		__atomic_load_n(&sampler.quit, __ATOMIC_RELAXED) ? NULL : sampler_thread_self();
	struct sigaction action;

	take_relayed(info);
	if ((thread && sampler_is_held(thread)) || guard_is_holding(context)) {
		postpone(signal, info, context);
		return;
	}
	host_get(&action);
	if (action.sa_handler == SIG_IGN)
		return;
	if (action.sa_handler == SIG_DFL) {
		die(signal);
		return;
	}
	/* Where the program's sigaction() came by way of it, its handler is what was asked for. */
	if (first && first != (uintptr_t)action.sa_sigaction)
		((void (*)(int, siginfo_t *, void *))first)(signal, info, context);
	else
		call(&action, signal, info, context);
}

void host_signal(int signal, siginfo_t *info, void *ucontext)
{
	act(signal, info, ucontext, __atomic_load_n(&between, __ATOMIC_ACQUIRE));
}

void host_stands_between(uintptr_t handler)
{
	__atomic_store_n(&between, handler, __ATOMIC_RELEASE);
}

void host_signal_kept(int signal, siginfo_t *info, void *ucontext)
{
	act(signal, info, ucontext, 0);
}
