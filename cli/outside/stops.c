/* SPDX-License-Identifier: MIT */
/*
 * Wait statuses of PTRACE_SEIZEd threads. Source: ptrace(2).
 */
#include "cli/outside/stops.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "cli/gather/procfs.h"
#include "cli/outside/attach.h"
#include "cli/outside/look.h"
#include "cli/outside/sample.h"
#include "cli/outside/strangers.h"

static void resume(pid_t tid, int request, int signal)
{
	/* It fails when the thread was killed meanwhile, which a later status tells. */
	ptrace(request, tid, NULL, (void *)(intptr_t)signal);
}

/* @tid is a zombie, not yet reaped: its clocks can still be read. */
static void before_death(struct tracer *tracer, pid_t tid)
{
	struct tracee *tracee = tracees_find(&tracer->tracees, tid);
	uint64_t cpu_ns;

	if (!tracee)
		return;
	sample_last(tracer, tracee);
	cpu_ns = procfs_cpu_ns((uint32_t)tracee->target->pid);
	if (cpu_ns)
		tracee->target->cpu_ns = cpu_ns;
}

static void after_death(struct tracer *tracer, pid_t tid)
{
	struct tracee *tracee = tracees_find(&tracer->tracees, tid);
	struct target *target;

	if (!tracee)
		return;
	target = tracee->target;
	look_unask(tracer, tracee);
	tracees_remove(&tracer->tracees, tracee);
	if (target->threads)
		return;
	sample_settle(tracer, target);
	if (!target->is_waiting)
		target_end(target, &tracer->shared, true, false);
	tracer_remove_target(tracer, target);
}

static bool is_job_control(int signal)
{
	return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/* A stop of ours, a birth, or a stop of the whole process, which has to go on being one. */
static void on_stop(struct tracer *tracer, struct tracee *tracee, int signal)
{
	int request = is_job_control(signal) ? PTRACE_LISTEN : PTRACE_CONT;

	if (tracee->asked_ns)
		sample_stopped(tracer, tracee, request, 0);
	else
		resume(tracee->tid, request, 0);
}

static void on_exec(struct tracer *tracer, pid_t tid)
{
	struct target *target = tracer_find_target(tracer, tid);

	if (target)
		attach_exec(tracer, target, tid);
	/* Of one that was let go this says that there is nobody. */
	resume(tid, PTRACE_CONT, 0);
}

static void on_status(struct tracer *tracer, pid_t tid, int status)
{
	struct tracee *tracee = tracees_find(&tracer->tracees, tid);
	int event = status >> 16;

	if (event == PTRACE_EVENT_EXEC) {
		on_exec(tracer, tid);
		return;
	}
	if (!tracee)
		tracee = attach_born(tracer, tid);
	if (!tracee)
		return;
	if (tracer->strangers && strangers_have_library(tracer, tracee->target)) {
		attach_let_go(tracer, tracee, event ? 0 : WSTOPSIG(status));
		return;
	}
	if (event == PTRACE_EVENT_STOP) {
		on_stop(tracer, tracee, WSTOPSIG(status));
		return;
	}
	/* Any stop takes the place of the one that was asked for. Source: Linux kernel/signal.c. */
	look_unask(tracer, tracee);
	resume(tid, PTRACE_CONT, event ? 0 : WSTOPSIG(status));
}

void stops_take(struct tracer *tracer)
{
	siginfo_t info = {0};
	int status;

	while (!waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | __WALL | WNOHANG | WNOWAIT) &&
		info.si_pid) {
		pid_t tid = info.si_pid;
		bool is_dead = info.si_code == CLD_EXITED || info.si_code == CLD_KILLED ||
			       info.si_code == CLD_DUMPED;

		if (is_dead)
			before_death(tracer, tid);
		if (waitpid(tid, &status, __WALL | WNOHANG) != tid)
			return;
		if (WIFSTOPPED(status))
			on_status(tracer, tid, status);
		else
			after_death(tracer, tid);
		info.si_pid = 0;
	}
}
