/* SPDX-License-Identifier: MIT */
/*
 * The program may set an action for the sampling signal, but this library's handler stays
 * installed: the program's action is only stored, and returned when the program reads the action. A
 * program that resets every signal at start, as node and shells do, would otherwise be killed by
 * the sampling timer.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/auxv.h>

#include "arch/syscall.h"
#include "arch/walk_stack.h"
#include "libprof/at_start.h"
#include "libprof/preload/preload.h"
#include "libprof/sampler/events.h"
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

/*
 * Set libc_calls here, because another library's constructor may call sigaction() before this
 * library's constructors run.
 */
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

/*
 * libc has signal() under several names. Programs built for strict ISO C call the System V variant.
 */
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

/*
 * Bytes of stack that the library's handler uses below the kernel's frame. tests/lint/lint_stack.py
 * checks this number.
 */
#define HANDLER_BYTES	   640
/* The kernel refuses an alternate stack that is smaller. */
#define KERNEL_MINSIGSTKSZ 2048

/* Atomic: 1 if a thread has set an alternate stack that is too small. */
static uint32_t is_any_small;

/*
 * Returns 1 if @stack is too small for the handler. AT_MINSIGSTKSZ is never less than a signal
 * frame, so compare with it first: computing the exact size takes instructions that are slow in a
 * virtual machine.
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
 * End the sampling of the calling thread before it sets a small alternate stack, because the kernel
 * kills a process if a signal's frame does not fit on that stack.
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
	/*
	 * Restore the mask: sampler_thread_end() has blocked the sampling signal for ever, but this
	 * thread continues and may use the signal itself.
	 */
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
