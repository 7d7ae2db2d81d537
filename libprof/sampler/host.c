/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * The program's signal handlers, and how the sampling handler coexists with them.
 *
 * The program may use the sampling signal ("our signal") as well. The kernel keeps only one pending
 * signal of a number for a thread, so a signal that the program raises in the microseconds between
 * a timer's expiry and our handler is lost. Expiries of our timers are queued separately and are
 * never lost.
 *
 * host.h explains the guard before handlers on alternate stacks. If the guard jumps to the
 * program's handler, no frame of ours is on the stack. If our signal stays blocked, samples that
 * become due in the handler, by the thread's CPU clock, are recorded as "[signal handler]". Samples
 * that were due before the handler began are added to the next sample.
 */
#include "libprof/sampler/host.h"

#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <ucontext.h>

#include "arch/handler.h"
#include "arch/registers.h"
#include "arch/syscall.h"
#include "libprof/at_start.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/confined.h"
#include "libprof/sampler/interrupted.h"
#include "libprof/sampler/own_threads.h"
#include "libprof/sampler/sampler.h"

/* ---- handlers on alternate stacks ------------------------------------------------------------ */

#define SIGNALS 64

/*
 * Room that the guard requires on an alternate stack: enough for the program's handler, the
 * kernel's frame and our handler. Go's signal stacks have 32 KiB, including the kernel's frame for
 * Go's handler.
 */
#define ROOM_BYTES (24UL << 10)

typedef void handler_fn(int, siginfo_t *, void *);

/* Flags: differences between the action that the program asked for and the kernel's action. */
#define ASKED_SIGINFO 1u
#define ASKED_MASK    2u /* program's mask has our signal */
/* The guard is installed. Cleared when another action replaces it. */
#define ASKED_GUARD 4u

/*
 * The program's action for a signal that has the guard. It is written before the kernel's action is
 * set, because another thread's handler may begin at any time. It is never cleared, because a
 * handler may just have begun. `handler` is one word, so it cannot be read half-written.
 */
struct program_action {
	handler_fn *handler; /* atomic */
	uint32_t flags;	     /* atomic: ASKED_* */
};

static struct program_action program_action[SIGNALS];
/* Atomic: 1 if the guard is or was installed for any signal. */
static AT_START uint32_t is_any_guarded;

/*
 * Returns 1 if the process is sampled and may make system calls. After an unseen seccomp filter was
 * reported it makes none, because the filter may forbid them.
 */
static int is_sampling(void)
{
	return __atomic_load_n(&sampler.on, __ATOMIC_ACQUIRE) && !confined_is_reported();
}

static int is_on_stack(const stack_t *stack, uintptr_t sp)
{
	return sp - (uintptr_t)stack->ss_sp < stack->ss_size;
}

/*
 * Returns 1 if our signal may be unblocked during the program's handler: there is room for our
 * handler on top of it.
 */
static int may_unblock(const stack_t *alternate, uint32_t flags)
{
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);

	if (is_on_stack(alternate, sp))
		return sp - (uintptr_t)alternate->ss_sp >= ROOM_BYTES;
	/* On a normal stack there is room. Unblock our signal unless the program's mask has it. */
	return !(flags & ASKED_MASK);
}

static uint64_t due_now(const struct sampler_thread *thread)
{
	return sampler_thread_due(thread, clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID));
}

static uintptr_t register_in(const void *ucontext, unsigned number)
{
	return *(const uintptr_t *)((const char *)ucontext + arch_ucontext_offset(number));
}

/*
 * Run the program's handler with our signal blocked. Compute the weight that became due in the
 * handler from the CPU clock before and after it, because the kernel checks timers only at ticks
 * and may be late.
 */
static __attribute__((noinline)) void call_blocked(
	handler_fn *handler, int signal, siginfo_t *info, void *context)
{
	struct sampler_thread *thread = sampler_thread_self();
	uint64_t before = thread ? due_now(thread) : 0, after;

	handler(signal, info, context);
	if (!thread || !is_sampling() || sampler_thread_self() != thread)
		return;
	after = due_now(thread);
	if (!after)
		return;
	if (after > before)
		thread->handler_weight += after - before;
	/*
	 * Read the address from @context now, because the handler may have changed where the thread
	 * resumes.
	 */
	thread->handled_pc = register_in(context, ARCH_DWARF_PC);
	thread->handled_sp = register_in(context, ARCH_DWARF_SP);
}

/*
 * The handler that the kernel calls. It jumps to the program's handler at its end, because
 * unwinders and handlers that inspect their caller expect the kernel's frame directly below. A
 * handler that takes one parameter ignores the other two arguments.
 */
static void guard_handler(int signal, siginfo_t *info, void *context)
{
	/* Must be static, because the jump leaves this stack frame. */
	static uint64_t ours;
	const struct program_action *of = &program_action[signal - 1];
	handler_fn *handler = __atomic_load_n(&of->handler, __ATOMIC_ACQUIRE);
	const ucontext_t *interrupted = context;

	/* If the thread blocks our signal itself, the signal stays blocked in its handlers, too. */
	if (is_sampling() && !(*sampler_mask(&interrupted->uc_sigmask) & sampler_signal_bit())) {
		if (!may_unblock(&interrupted->uc_stack,
			    __atomic_load_n(&of->flags, __ATOMIC_RELAXED))) {
			call_blocked(handler, signal, info, context);
			return;
		}
		ours = sampler_signal_bit();
		arch_handler_unblock(&ours, context);
	}
	handler(signal, info, context);
}

int guard_is_behind(struct sampler_thread *thread, const struct arch_registers *registers)
{
	int is_behind = thread->handled_sp && thread->handled_sp == registers->r[ARCH_DWARF_SP] &&
			thread->handled_pc == registers->r[ARCH_DWARF_PC];

	thread->handled_sp = 0;
	return is_behind;
}

/* ---- actions that the program sets and gets -------------------------------------------------- */

static int is_handler(const struct sigaction *action)
{
	return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

/* Returns 1 if the guard must run before @action's handler. */
static int needs_guard(int signal, const struct sigaction *action)
{
	int is_masked = (*sampler_mask(&action->sa_mask) & sampler_signal_bit()) != 0;

	return signal > 0 && signal <= SIGNALS && action->sa_flags & SA_ONSTACK &&
	       is_handler(action) &&
	       /*
	        * If a program that profiles itself masks our signal, leave its action unchanged,
	        * because such a program controls its masks.
	        */
	       !(sampler_is_hosted() && is_masked) && sampler_is_this_process();
}

static void set_program_action(struct program_action *of, handler_fn *handler, uint32_t flags)
{
	__atomic_store_n(&of->flags, flags, __ATOMIC_RELAXED);
	__atomic_store_n(&of->handler, handler, __ATOMIC_RELEASE);
}

/* Returns the action to set in the kernel instead of @action, and stores @action's handler. */
static struct sigaction with_guard(struct program_action *of, const struct sigaction *action)
{
	struct sigaction copy = *action;
	uint32_t flags = ASKED_GUARD;

	if (action->sa_flags & SA_SIGINFO)
		flags |= ASKED_SIGINFO;
	if (*sampler_mask(&action->sa_mask) & sampler_signal_bit())
		flags |= ASKED_MASK;
	/*
	 * Do not store the guard as the program's handler: a program that read the kernel's action
	 * by a system call may pass the guard itself.
	 */
	if (action->sa_sigaction != guard_handler) {
		__atomic_store_n(&is_any_guarded, 1, __ATOMIC_RELEASE);
		set_program_action(of, action->sa_sigaction, flags);
	}
	copy.sa_sigaction = guard_handler;
	copy.sa_flags |= SA_SIGINFO;
	*sampler_mask(&copy.sa_mask) |= sampler_signal_bit();
	return copy;
}

/*
 * Convert the kernel's action @old to the program's. @before is the program's action from the time
 * when @old was set.
 */
static void hide_guard(const struct program_action *before, struct sigaction *old)
{
	int was_reset = old->sa_handler == SIG_DFL && old->sa_flags & (int)SA_RESETHAND &&
			before->flags & ASKED_GUARD;

	if (old->sa_sigaction == guard_handler)
		old->sa_sigaction = before->handler;
	else if (!was_reset)
		return;
	if (!(before->flags & ASKED_SIGINFO))
		old->sa_flags &= ~SA_SIGINFO;
	if (!(before->flags & ASKED_MASK))
		*sampler_mask(&old->sa_mask) &= ~sampler_signal_bit();
}

sighandler_t guard_program_handler(int signal, sighandler_t handler)
{
	struct sigaction action = {.sa_handler = handler};

	if (action.sa_sigaction == guard_handler)
		action.sa_sigaction =
			__atomic_load_n(&program_action[signal - 1].handler, __ATOMIC_RELAXED);
	return action.sa_handler;
}

int guard_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	int is_guarded = action && needs_guard(signal, action);
	struct program_action before = {0}, *of = NULL;
	struct sigaction copy;
	int error;

	if (signal > 0 && signal <= SIGNALS)
		of = &program_action[signal - 1];
	if (of && __atomic_load_n(&is_any_guarded, __ATOMIC_ACQUIRE)) {
		before.handler = __atomic_load_n(&of->handler, __ATOMIC_ACQUIRE);
		before.flags = __atomic_load_n(&of->flags, __ATOMIC_RELAXED);
	}
	if (is_guarded) {
		copy = with_guard(of, action);
		action = &copy;
	}
	error = libc_calls.sigaction(signal, action, old);
	if (error) {
		if (is_guarded)
			set_program_action(of, before.handler, before.flags);
		return error;
	}
	if (old && of)
		hide_guard(&before, old);
	/*
	 * Clear the flag only in the process itself. A vfork child shares this memory but has its
	 * own signal actions in the kernel.
	 */
	if (action && !is_guarded && before.flags & ASKED_GUARD && sampler_is_this_process())
		__atomic_store_n(&of->flags, before.flags & ~ASKED_GUARD, __ATOMIC_RELAXED);
	return 0;
}

/* ---- the program's own use of our signal ----------------------------------------------------- */

/*
 * The program's action for our signal, in a ring of copies. One thread may set the action while
 * another thread's handler copies it, and the handler of one action with the flags of another would
 * crash. So a published copy is overwritten only after KEPT further ones.
 */
#define KEPT 8u
static AT_START struct sigaction actions[KEPT];
/* Atomic: index of the copy claimed last, modulo KEPT. */
static AT_START uint32_t claimed;
static AT_START uint32_t current; /* atomic; index of the published copy */

void host_set(const struct sigaction *action)
{
	uint32_t place = __atomic_add_fetch(&claimed, 1, __ATOMIC_RELAXED) % KEPT;

	actions[place] = *action;
	__atomic_store_n(&current, place, __ATOMIC_RELEASE);
}

void host_get(struct sigaction *out)
{
	*out = actions[__atomic_load_n(&current, __ATOMIC_ACQUIRE)];
}

/*
 * Set the calling thread's mask. Do nothing in an image that has quit, because a seccomp filter may
 * forbid the call; the program's handler then runs with all signals blocked.
 */
static void set_mask(uint64_t mask)
{
	if (__atomic_load_n(&sampler.quit, __ATOMIC_RELAXED))
		return;
	arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
}

/*
 * The program has blocked the signal, but the kernel has not, for the sake of sampling. A signal of
 * the program's own has arrived, so really block the signal and send it again: it stays pending, or
 * a thread that waits for it receives it. Only the main thread may send it with the original
 * siginfo; other threads use kill().
 */
static void resend_blocked(int signal, siginfo_t *info, ucontext_t *context)
{
	pid_t pid = (pid_t)arch_syscall0(SYS_getpid);

	*sampler_mask(&context->uc_sigmask) |= 1ULL << (signal - 1);
	if (info->si_code == SI_TKILL)
		arch_syscall4(SYS_rt_tgsigqueueinfo, pid, arch_syscall0(SYS_gettid), signal, info);
	else if (arch_syscall3(SYS_rt_sigqueueinfo, pid, signal, info))
		arch_syscall2(SYS_kill, pid, signal);
}

/*
 * Raise @signal with the default action. The signal is pending until our handler returns. Clear
 * slot->signal first: if an image is killed by this signal number, flamerun reports that the
 * program has reset the signal's action by a system call.
 */
static void kill_by_default(int signal)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} kernel_default = {SIG_DFL, 0, NULL, 0};

	if (sampler_is_this_process())
		sampler.slot->signal = 0;
	arch_syscall4(SYS_rt_sigaction, signal, &kernel_default, NULL, 8);
	arch_syscall3(SYS_tgkill, arch_syscall0(SYS_getpid), arch_syscall0(SYS_gettid), signal);
}

/*
 * Returns the mask under which the thread was interrupted. In a call that waits with a mask of its
 * own, this is thread->wait.mask, because @context has the mask that is valid before and after the
 * call.
 */
static uint64_t interrupted_mask(const struct sampler_thread *thread, const ucontext_t *context)
{
	if (thread && interrupted_wait(thread, context))
		return thread->wait.mask;
	return *sampler_mask(&context->uc_sigmask);
}

/* Run the program's handler. @mask and the signals in @action's mask are blocked during it. */
static void call_handler(const struct sigaction *action, uint64_t mask, int signal, siginfo_t *info,
	ucontext_t *context)
{
	mask |= *sampler_mask(&action->sa_mask);
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

void host_signal(int signal, siginfo_t *info, void *ucontext)
{
	const struct sampler_thread *thread =
		__atomic_load_n(&sampler.quit, __ATOMIC_RELAXED) ? NULL : sampler_thread_self();
	struct sigaction action;

	if (thread && sampler_is_held(thread)) {
		resend_blocked(signal, info, ucontext);
		return;
	}
	host_get(&action);
	if (action.sa_handler == SIG_IGN)
		return;
	if (action.sa_handler == SIG_DFL)
		kill_by_default(signal);
	else
		call_handler(&action, interrupted_mask(thread, ucontext), signal, info, ucontext);
}
