/* SPDX-License-Identifier: MIT */
/*
 * The run loop.
 */
#include "cli/run/watch.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/diag.h"
#include "cli/gather/procfs.h"
#include "cli/run/gather.h"
#include "cli/run/jit.h"
#include "cli/run/signals.h"

#define TICK_MS        50 /* the pipe is read when it says so, and the terminal looked after */
#define GRACE_TICK_MS  5
#define CONTINUE_TRIES 10
#define NS_PER_MS      1000000u
#define NS_PER_S       1000000000u

/* @error: of gathering. */
static void tell_once(int error)
{
	static bool told;
	struct diag_message message;

	if (!error || told)
		return;
	told = true;
	diag_fail(&message, -ENOMEM, "out of memory: not everything that is sampled can be kept");
	diag_report(&message);
}

/* Milliseconds until the next thing to do without being woken, -1 for ever. */
static int patience_ms(const struct watch *watch)
{
	int patience = watch->gather ? TICK_MS : -1;
	uint64_t now_ns = clock_now_ns(), left_ms;

	if (!watch->deadline_ns)
		return patience;
	if (now_ns >= watch->deadline_ns)
		return 0;
	left_ms = (watch->deadline_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
	if (patience >= 0 && left_ms > (uint64_t)patience)
		return patience;
	return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

static void sleep_until_something(const struct watch *watch, int patience)
{
	struct pollfd files[] = {
		{.fd = watch->doorbell, .events = POLLIN},
		{.fd = watch->gather ? gather_descriptor(watch->gather) : -1, .events = POLLIN},
	};

	poll(files, 2, patience); /* EINTR is as good as the doorbell */
	signals_drain();
}

/* Take one stop or continuation of the child. Returns CLD_STOPPED, CLD_CONTINUED or 0. */
static int take_change(pid_t child, int kinds, int *stop_signal)
{
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)child, &info, kinds | WNOHANG) || !info.si_pid)
		return 0;
	*stop_signal = info.si_status;
	return info.si_code;
}

/*
 * The child was stopped by job control in our own process group: the shell waits for us to stop.
 * Stopping when the child does, rather than at the terminal's SIGTSTP, leaves a child that first
 * tidies up its screen the time to do so. When we are continued alone, so is the child.
 */
static void stop_along(pid_t child, int stop_signal)
{
	const struct timespec moment = {.tv_nsec = NS_PER_MS};
	int ignored;

	if (stop_signal != SIGTSTP && stop_signal != SIGTTIN && stop_signal != SIGTTOU)
		return;
	if (getpgid(child) != getpgrp() || !signals_suspend(stop_signal))
		return;
	for (int i = 0; i < CONTINUE_TRIES; i++) {
		if (take_change(child, WCONTINUED, &ignored))
			goto out;
		nanosleep(&moment, NULL);
	}
	kill(child, SIGCONT);
out:
	signals_take_continue();
}

/*
 * A program that refuses to be debugged makes its parent its tracer, and each signal then stops it
 * until that one lets it go on; ours come many times a second, so we do.
 */
static void let_go_on(pid_t child, int stop_signal)
{
	ptrace(PTRACE_CONT, child, NULL, (void *)(uintptr_t)stop_signal);
}

static void follow_changes(pid_t child)
{
	bool was_continued = false;
	int stop_signal, change, stopped_by = 0;

	while ((change = take_change(child, WSTOPPED | WCONTINUED, &stop_signal))) {
		if (change == CLD_CONTINUED)
			was_continued = true;
		else if (change == CLD_TRAPPED)
			let_go_on(child, stop_signal);
		stopped_by = change == CLD_STOPPED ? stop_signal : 0;
	}
	if (signals_take_continue() && !was_continued)
		kill(child, SIGCONT);
	else if (stopped_by)
		stop_along(child, stopped_by);
}

/*
 * As the first process of a pid namespace, which a container's command is, we inherit every orphan
 * in it, and nobody else can reap them.
 */
static void reap_orphans(pid_t child)
{
	siginfo_t info = {0};

	if (getpid() != 1)
		return;
	while (!waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | WNOHANG) && info.si_pid &&
		info.si_pid != child) {
		waitpid(info.si_pid, NULL, 0);
		info.si_pid = 0;
	}
}

static uint64_t timeval_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_usec * 1000;
}

/*
 * Reap the child if it has ended. Only before can its own CPU time be told from its children's. Its
 * pid stays taken until nothing is passed on to it any more.
 */
static bool reap(struct watch *watch)
{
	siginfo_t info = {0};
	struct rusage usage = {0};
	uint64_t own_ns, all_ns;

	if (waitid(P_PID, (id_t)watch->child, &info, WEXITED | WNOWAIT | WNOHANG) || !info.si_pid)
		return false;
	signals_stop_passing();
	own_ns = procfs_cpu_ns((uint32_t)watch->child);
	while (wait4(watch->child, &watch->wait_status, 0, &usage) < 0 && errno == EINTR)
		;
	all_ns = timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime);
	watch->used = (struct accounting_child){
		.pid = (uint32_t)watch->child,
		.cpu_ns = own_ns,
		.children_ns = all_ns > own_ns ? all_ns - own_ns : 0,
		.max_kib = (uint64_t)usage.ru_maxrss,
		.pushed = (uint64_t)usage.ru_nivcsw,
	};
	return true;
}

enum watch_event watch(struct watch *watch)
{
	for (;;) {
		sleep_until_something(watch, patience_ms(watch));
		if (watch->gather) {
			tell_once(gather_step(watch->gather));
			jit_look(watch->jit, clock_now_ns());
		}
		follow_changes(watch->child);
		reap_orphans(watch->child);
		if (reap(watch))
			return WATCH_ENDED;
		if (watch->deadline_ns && clock_now_ns() >= watch->deadline_ns)
			return WATCH_DEADLINE;
	}
}

unsigned watch_descendants(const struct watch *watch, unsigned limit_ms)
{
	uint64_t limit_ns = clock_now_ns() + (uint64_t)limit_ms * NS_PER_MS;

	tell_once(gather_look(watch->gather));
	while (gather_live(watch->gather) && clock_now_ns() < limit_ns && !signals_hurry()) {
		sleep_until_something(watch, GRACE_TICK_MS);
		tell_once(gather_look(watch->gather));
	}
	return gather_live(watch->gather);
}
