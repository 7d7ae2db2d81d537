/* SPDX-License-Identifier: MIT */
/*
 * Catch signals, and save and restore inherited dispositions. signals.h says what each signal does.
 */
#include "cli/run/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/run/library.h"
#include "cli/run/outputs.h"

enum phase {
	PHASE_BEFORE = 0,
	PHASE_RUNNING,
	PHASE_ATTACHED,
	PHASE_ENDED
};

/*
 * Signals that are forwarded to the program, in addition to the real-time signals. The list omits
 * signals that cannot be caught, signals that the CPU raises, and TTIN and TTOU, which are about
 * flamerun's own process group and its terminal.
 */
static const int passed[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP,
	SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGURG, SIGWINCH, SIGSTKFLT};
#define PASSED_COUNT (sizeof(passed) / sizeof(passed[0]))

static struct sigaction inherited[NSIG];
static sigset_t inherited_mask;

/* Shared with the handler. Non-zero values of `child` are written while all signals are blocked. */
static volatile sig_atomic_t phase;
static volatile pid_t child;
/* set by SIGCONT; signals_suspend() clears this flag before it stops flamerun */
static volatile sig_atomic_t continued;
/* a process sent SIGCONT: forward it */
static volatile sig_atomic_t continue_came;
static volatile sig_atomic_t hurries;
static int doorbell = -1;

static bool is_fatal(int signal)
{
	return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

static void forward_signal(int signal, const siginfo_t *info)
{
	/* Do not send a signal from the child back to the child: it was meant for its parent. */
	if (!child || info->si_pid == child)
		return;
	if (info->si_code == SI_QUEUE)
		sigqueue(child, signal, info->si_value);
	else if (info->si_code != SI_USER && info->si_code != SI_TKILL)
		return;
	else if (signal == SIGCONT)
		continue_came = 1;
	else
		kill(child, signal);
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
	uint64_t one = 1;
	int saved_errno = errno;

	(void)context;
	if (signal == SIGCONT)
		continued = 1;
	if (signal == SIGCHLD) {
		/* only write to the doorbell */
	} else if (phase == PHASE_RUNNING) {
		forward_signal(signal, info);
	} else if (phase == PHASE_ATTACHED && is_fatal(signal)) {
		if (inherited[signal].sa_handler != SIG_IGN)
			phase = PHASE_ENDED;
	} else if (is_fatal(signal) && inherited[signal].sa_handler != SIG_IGN) {
		if (phase == PHASE_BEFORE || hurries++) {
			outputs_abandon();
			library_abandon();
			signals_die(signal);
		}
	}
	if (write(doorbell, &one, sizeof(one)) < 0) {
		/* full, so it is readable */
	}
	errno = saved_errno;
}

/*
 * The first two real-time signals belong to libc: its sigaction() rejects them, and libc catches
 * one of them when flamerun starts a thread. The parent may have set them to be ignored, so save
 * and restore that by direct system calls.
 */
#define LIBC_SIGNAL 32
#define LIBC_SIGNALS 2
static bool ignores[LIBC_SIGNALS];

/*
 * Save which of libc's signals are ignored. `action` is the kernel's struct sigaction, which has
 * four words: handler, flags, restorer, mask.
 */
static void save_libc_signals(void)
{
	for (int i = 0; i < LIBC_SIGNALS; i++) {
		uintptr_t action[4] = {0};

		ignores[i] = !syscall(SYS_rt_sigaction, LIBC_SIGNAL + i, NULL, action, 8) &&
			     action[0] == (uintptr_t)SIG_IGN;
	}
}

static void restore_libc_signals(void)
{
	const uintptr_t ignore[4] = {(uintptr_t)SIG_IGN};

	for (int i = 0; i < LIBC_SIGNALS; i++)
		if (ignores[i])
			syscall(SYS_rt_sigaction, LIBC_SIGNAL + i, ignore, NULL, 8);
}

void signals_begin(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	save_libc_signals();
	sigprocmask(SIG_SETMASK, NULL, &inherited_mask);
	for (int signal = 1; signal < NSIG; signal++)
		sigaction(signal, NULL, &inherited[signal]);
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGXFSZ, &ignore, NULL);
}

/* Catch @signal with SA_RESTART, so that drawing and writing need not handle EINTR. */
static void catch_signal(int signal)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};

	sigfillset(&action.sa_mask);
	sigaction(signal, &action, NULL);
}

void signals_guard(void)
{
	for (int signal = 1; signal < NSIG; signal++)
		if (is_fatal(signal) && inherited[signal].sa_handler != SIG_IGN)
			catch_signal(signal);
}

int signals_catch(void)
{
	sigset_t caught;

	doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (doorbell < 0)
		return -errno;
	sigemptyset(&caught);
	for (size_t i = 0; i < PASSED_COUNT; i++)
		sigaddset(&caught, passed[i]);
	for (int signal = SIGRTMIN; signal <= SIGRTMAX; signal++)
		sigaddset(&caught, signal);
	sigaddset(&caught, SIGCHLD);
	for (int signal = 1; signal < NSIG; signal++)
		if (sigismember(&caught, signal) == 1)
			catch_signal(signal);
	sigprocmask(SIG_UNBLOCK, &caught, NULL);
	return doorbell;
}

void signals_drain(void)
{
	uint64_t rings;

	if (read(doorbell, &rings, sizeof(rings)) < 0)
		return; /* empty */
}

void signals_block(void)
{
	sigset_t all, pending;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	sigpending(&pending);
	for (int signal = 1; signal < NSIG; signal++) {
		if (!is_fatal(signal) || sigismember(&pending, signal) != 1)
			continue;
		/* The pending signal now ends flamerun, unless it was ignored at the start. */
		signals_unblock();
		sigprocmask(SIG_BLOCK, &all, NULL);
	}
}

void signals_unblock(void)
{
	sigset_t mask = inherited_mask;

	for (size_t i = 0; i < PASSED_COUNT; i++)
		sigdelset(&mask, passed[i]);
	for (int signal = SIGRTMIN; signal <= SIGRTMAX; signal++)
		sigdelset(&mask, signal);
	sigdelset(&mask, SIGCHLD);
	sigprocmask(SIG_SETMASK, &mask, NULL);
}

void signals_restore(void)
{
	for (int signal = 1; signal < NSIG; signal++)
		sigaction(signal, &inherited[signal], NULL);
	restore_libc_signals();
	sigprocmask(SIG_SETMASK, &inherited_mask, NULL);
}

void signals_forward_to(pid_t pid)
{
	child = pid;
	phase = PHASE_RUNNING;
}

void signals_watch_end(void)
{
	sigaction(SIGTSTP, &inherited[SIGTSTP], NULL);
	phase = PHASE_ATTACHED;
}

bool signals_end_requested(void)
{
	return phase == PHASE_ENDED;
}

void signals_stop_forwarding(void)
{
	sigaction(SIGTSTP, &inherited[SIGTSTP], NULL);
	child = 0;
	phase = PHASE_ENDED;
}

bool signals_read_continue(void)
{
	bool came = continue_came;

	continue_came = 0;
	return came;
}

bool signals_suspend(int stop_signal)
{
	struct sigaction standard = {.sa_handler = SIG_DFL}, ours;

	if (inherited[stop_signal].sa_handler == SIG_IGN)
		return false;
	continued = 0;
	sigaction(stop_signal, &standard, &ours);
	raise(stop_signal);
	sigaction(stop_signal, &ours, NULL);
	return continued;
}

bool signals_hurry(void)
{
	return hurries > 0;
}

void signals_die(int signal)
{
	const struct rlimit no_core = {0, 0};
	struct sigaction standard = {.sa_handler = SIG_DFL};
	sigset_t mask;

	/* RLIMIT_CORE prevents core files, PR_SET_DUMPABLE also cores that go to a pipe. */
	setrlimit(RLIMIT_CORE, &no_core);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	sigaction(signal, &standard, NULL);
	sigemptyset(&mask);
	sigaddset(&mask, signal);
	sigprocmask(SIG_UNBLOCK, &mask, NULL);
	raise(signal);
}
