/* SPDX-License-Identifier: MIT */
/*
 * Install the sampling handler, which stays installed after sampling ends. Without interposers a
 * program may replace it; the profiler's worker thread checks that at its tick and then stops the
 * profiler.
 */
#include "libprof/sampler/own_signal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>

#include "arch/syscall.h"
#include "arch/walk_stack.h"
#include "libprof/at_start.h"
#include "libprof/sanitizers.h"
#include "libprof/sampler/host.h"
#include "libprof/sampler/own_threads.h"
#include "libprof/sampler/sampler.h"
#include "libprof/sampler/text.h"

/*
 * 1 if this library itself is built with ThreadSanitizer. The sampling handler then calls
 * ThreadSanitizer's runtime, which must not be interrupted, so the runtime has to defer the signal.
 */
#define IS_INSTRUMENTED UNDER_TSAN

/* Atomic: the handler that the kernel had after our installation; 0 before. */
static AT_START uintptr_t installed;

/*
 * Returns the kernel's action for our signal, read by a system call, because sigaction() may be
 * interposed.
 */
static struct kernel_action kernel_action(void)
{
	struct kernel_action action = {0, 0, NULL, 0};

	arch_syscall4(SYS_rt_sigaction, sampler_signal(), NULL, &action, sizeof(action.mask));
	return action;
}

/*
 * Install our handler. If the program's own handler has no SA_RESTART, ours has none either, so
 * that a signal of the program's own interrupts system calls as before. Our timers expire on the
 * way back to user mode, so they never interrupt a system call.
 *
 * An interposed sigaction() may install another handler in the kernel, as ThreadSanitizer's does,
 * which defers every signal until the thread calls libc. Our handler need not be deferred, so it is
 * set by a system call, with the flags and the restorer that libc added.
 */
static int install(const struct sigaction *host)
{
	struct sigaction action = {0};
	struct kernel_action kernel;

	action.sa_sigaction = sampler_handler;
	action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
	/*
	 * Without SA_ONSTACK valgrind extends the main thread's stack for the signal's frame. With
	 * SA_ONSTACK it does not, even if the thread has no alternate stack, and kills the program.
	 */
	if (arch_ask_valgrind(VALGRIND_IS_RUNNING, 0, 0))
		action.sa_flags &= ~SA_ONSTACK;
	if (host->sa_handler != SIG_DFL && host->sa_handler != SIG_IGN &&
		!(host->sa_flags & SA_RESTART))
		action.sa_flags &= ~SA_RESTART;
	/*
	 * Set all bits, because sigfillset() leaves out two signals of libc, whose handlers must
	 * not run on our stack.
	 */
	*sampler_mask(&action.sa_mask) = ~0ULL;
	if (libc_calls.sigaction(sampler_signal(), &action, NULL))
		return -1;
	kernel = kernel_action();
	if (IS_INSTRUMENTED || kernel.handler == (uintptr_t)sampler_handler)
		return 0;
	kernel.handler = (uintptr_t)sampler_handler;
	kernel.flags &= ~(unsigned long)(SA_RESTART | SA_ONSTACK | SA_NODEFER | SA_RESETHAND);
	kernel.flags |= (unsigned int)action.sa_flags;
	kernel.mask = ~0ULL;
	arch_syscall4(SYS_rt_sigaction, sampler_signal(), &kernel, NULL, sizeof(kernel.mask));
	return 0;
}

int own_signal_is_displaced(void)
{
	uintptr_t ours = __atomic_load_n(&installed, __ATOMIC_RELAXED);

	return !ours || kernel_action().handler != ours;
}

int own_signal_install(void)
{
	struct sigaction before;

	if (!own_signal_is_displaced()) {
		/*
		 * A child that was forked in the middle of this function has our handler, but not
		 * `owns_signal`, so set it here.
		 */
		__atomic_store_n(&sampler.owns_signal, 1, __ATOMIC_RELEASE);
		return 0;
	}
	__atomic_store_n(&sampler.owns_signal, 0, __ATOMIC_RELEASE);
	if (libc_calls.sigaction(sampler_signal(), NULL, &before))
		return -errno;
	/*
	 * Store the program's action before our handler is installed, because a signal of the
	 * program may arrive at once.
	 */
	host_set(&before);
	if (install(&before))
		return -errno;
	__atomic_store_n(&installed, kernel_action().handler, __ATOMIC_RELAXED);
	__atomic_store_n(&sampler.owns_signal, 1, __ATOMIC_RELEASE);
	return 0;
}

void own_signal_restore(void)
{
	struct sigaction action;

	host_get(&action);
	libc_calls.sigaction(sampler_signal(), &action, NULL);
}

void own_signal_reinstall(void)
{
	struct sigaction action;

	host_get(&action);
	install(&action);
}

static int has_other_handler(void)
{
	struct sigaction action;

	if (own_signal_is_displaced())
		return kernel_action().handler > (uintptr_t)SIG_IGN;
	host_get(&action);
	return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

/*
 * Returns 1 if the process has a POSIX timer that sends our signal: /proc/self/timers has a line
 * "signal: 27/<cookie>" for each timer. Some kernels do not have the file.
 */
static int has_posix_timer(void)
{
	static const char wanted[] = "signal: ";
	char text[4096], number[12], *end = number;
	long fd = arch_syscall4(SYS_openat, AT_FDCWD, "/proc/self/timers", O_RDONLY | O_CLOEXEC, 0);
	long n = fd < 0 ? 0 : arch_syscall3(SYS_read, fd, text, sizeof(text) - 1);
	int found = 0;

	if (fd >= 0)
		arch_syscall1(SYS_close, fd);
	text_append_number(&end, sampler_signal());
	*end++ = '/';
	*end = '\0';
	text[n > 0 ? n : 0] = '\0';
	for (char *at = text; !found && (at = strstr(at, wanted)); at++)
		found = !strncmp(at + sizeof(wanted) - 1, number, strlen(number));
	return found;
}

/* Returns the timer of setitimer(2) that sends our signal, or -1. */
static int interval_timer(void)
{
	switch (sampler_signal()) {
	case SIGVTALRM:
		return ITIMER_VIRTUAL;
	case SIGPROF:
		return ITIMER_PROF;
	case SIGALRM:
		return ITIMER_REAL;
	}
	return -1;
}

int own_signal_is_used_by_program(void)
{
	struct itimerval interval = {{0, 0}, {0, 0}};
	int timer = interval_timer();

	if (!has_other_handler())
		return 0;
	return (timer >= 0 && !getitimer((__itimer_which_t)timer, &interval) &&
		       (interval.it_value.tv_sec || interval.it_value.tv_usec)) ||
	       has_posix_timer();
}
