/* SPDX-License-Identifier: MIT */
/*
 * The tracing process: its loop, and the events that the kernel reports: signals, execs, new
 * threads and processes, and ends. Except for the stops that the tracer itself causes, every event
 * has the same effect as without a tracer. Source of the wait statuses: ptrace(2).
 *
 * The loop runs in a thread of its own. When this thread ends, the kernel detaches all tracees at
 * once. The last records are flushed to the pipe after that, so a full pipe holds up no target.
 */
#include "cli/outside/tracer.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/outside/attach.h"
#include "cli/outside/cpu_timer.h"
#include "cli/outside/sample.h"
#include "cli/outside/target_waits.h"
#include "cli/outside/uninjected.h"
#include "cli/own_stack.h"
#include "libprof/procfs.h"

#define NS_PER_S  1000000000ULL
#define NS_PER_MS 1000000ULL

/* Intervals of: checking threads without a timer; reading mappings; counting threads. */
#define ROUND_NS (10 * NS_PER_MS)
#define REMAP_NS (1000 * NS_PER_MS)
#define SCAN_NS	 (50 * NS_PER_MS)
/*
 * When sampling ends, each process deletes its timers at the next stop of a thread for a sample. If
 * no thread stops within this time, the timers are left in the process.
 */
#define LEAVE_NS (250 * NS_PER_MS)

/* ---- events of tracees ----------------------------------------------------------------------- */

/* Remove @target when none of its threads is traced any more. */
static void remove_target(struct tracer *tracer, struct target *target)
{
	if (tracer->uninjected)
		uninjected_ended(tracer->uninjected, target->pid);
	attach_remove_target(tracer, target);
}

/* Detach the stopped @tracee and deliver @signal, unless 0. The last thread removes its target. */
static void detach_thread(struct tracer *tracer, struct tracee *tracee, int signal)
{
	struct target *target = tracee->target;

	attach_detach_thread(tracer, tracee, signal);
	if (!target->threads)
		remove_target(tracer, target);
}

static void resume(pid_t tid, int request, int signal)
{
	/* This fails if the thread was killed meanwhile. A later wait status reports that. */
	ptrace(request, tid, NULL, (void *)(intptr_t)signal);
}

/* Record the CPU time of the zombie @tid before it is reaped: its clocks can still be read. */
static void on_zombie(struct tracer *tracer, pid_t tid)
{
	struct tracee *tracee = tracees_find(&tracer->tracees, tid);
	uint64_t cpu_ns;

	if (!tracee)
		return;
	sample_credit_thread(tracer, tracee);
	cpu_ns = procfs_cpu_ns((uint32_t)tracee->target->pid);
	if (cpu_ns)
		tracee->target->cpu_ns = cpu_ns;
}

static void on_reaped(struct tracer *tracer, pid_t tid)
{
	struct tracee *tracee = tracees_find(&tracer->tracees, tid);
	struct target *target;

	if (!tracee)
		return;
	target = tracee->target;
	cpu_timer_forget(tracer, tracee);
	tracees_remove(&tracer->tracees, tracee);
	if (target->threads)
		return;
	sample_credit_target(tracer, target);
	if (!target->is_waiting)
		attach_end_image(tracer, target, true, false);
	remove_target(tracer, target);
}

static bool is_job_control(int signal)
{
	return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/*
 * Handle a stop that the tracer asked for, a new thread's first stop, or a stop of the whole
 * process. If a job-control signal such as SIGSTOP stopped the process, @tracee stays stopped.
 */
static void on_stop(struct tracer *tracer, struct tracee *tracee, int signal)
{
	int request = is_job_control(signal) ? PTRACE_LISTEN : PTRACE_CONT;
	bool is_born = tracee->is_born;

	tracee->is_born = false;
	if (tracee->is_asked || is_born)
		sample_stopped(tracer, tracee, request);
	else if (request == PTRACE_LISTEN)
		resume(tracee->tid, request, 0);
	else
		sample_continued(tracee);
	tracee->was_stopped = request == PTRACE_LISTEN;
}

/*
 * Handle the exec of a process. If the process was attached to because it was an uninjected program
 * (one without the library), detach it, because the new program may have the library. If not,
 * uninjected.c will find it again. Otherwise, sample its new image.
 */
static void on_exec(struct tracer *tracer, pid_t tid)
{
	struct target *target = attach_find(tracer, tid);
	struct tracee *tracee;

	if (target)
		attach_exec(tracer, target, tid);
	if (target && tracer->uninjected) {
		uninjected_exec(tracer->uninjected, target->pid, target->cpu_ns);
		tracee = tracees_find(&tracer->tracees, tid);
		if (tracee) {
			detach_thread(tracer, tracee, 0);
		} else {
			ptrace(PTRACE_DETACH, tid, NULL, NULL);
			remove_target(tracer, target);
		}
	} else if (target) {
		attach_next_image(tracer, target, tid);
	}
	/*
	 * Stop the thread again when the exec call returns, and make the timers then. At this stop,
	 * the kernel would still overwrite a register with the call's result. Resuming a detached
	 * thread fails, which is harmless.
	 */
	resume(tid, tracees_find(&tracer->tracees, tid) ? PTRACE_SYSCALL : PTRACE_CONT, 0);
}

/* The exec call has ended: make the timers. */
static void on_executed(struct tracer *tracer, struct tracee *tracee)
{
	resume(tracee->tid, PTRACE_CONT, cpu_timers_make(tracer, tracee));
}

/* If not done before, delete the process's timers. Returns the signal to resume with, or 0. */
static int delete_timers(struct tracer *tracer, struct tracee *tracee)
{
	bool is_first = !tracee->target->is_left;

	tracee->target->is_left = true;
	return is_first ? cpu_timers_delete(tracer, tracee) : 0;
}

/*
 * Detach @tracee, because the library now samples its process. Delete timers only at a stop for a
 * timer, because at other stops, for example in a fork, the thread may not be able to make remote
 * calls.
 */
static void leave_to_library(struct tracer *tracer, struct tracee *tracee, int status)
{
	int signal = status >> 16 ? 0 : WSTOPSIG(status);
	struct cpu_timer_expiry expiry;

	if (cpu_timer_has_expired(tracee->tid, signal, &expiry))
		signal = delete_timers(tracer, tracee);
	detach_thread(tracer, tracee, signal);
}

/* Handle a stop of @tracee by a CPU timer. */
static void on_expired(
	struct tracer *tracer, struct tracee *tracee, const struct cpu_timer_expiry *expiry)
{
	if (tracer->leaving_ns)
		resume(tracee->tid, PTRACE_CONT, delete_timers(tracer, tracee));
	else if (expiry->timer == tracee->timer)
		sample_expired(tracer, tracee, expiry->weight);
	else
		resume(tracee->tid, PTRACE_CONT,
			cpu_timers_delete_left(tracer, tracee, expiry->timer));
}

static void on_status(struct tracer *tracer, pid_t tid, int status)
{
	struct tracee *tracee = tracees_find(&tracer->tracees, tid);
	int event = status >> 16;
	struct cpu_timer_expiry expiry;

	if (event == PTRACE_EVENT_EXEC) {
		on_exec(tracer, tid);
		return;
	}
	if (!tracee)
		tracee = attach_born(tracer, tid);
	if (!tracee)
		return;
	if (tracer->uninjected && uninjected_has_library(tracer, tracee->target)) {
		leave_to_library(tracer, tracee, status);
		return;
	}
	if (event == PTRACE_EVENT_STOP) {
		on_stop(tracer, tracee, WSTOPSIG(status));
		return;
	}
	/*
	 * Another stop replaces the stop that the tracer asked for. Source: Linux kernel/signal.c.
	 */
	tracee->is_asked = false;
	if (!event && WSTOPSIG(status) == (SIGTRAP | 0x80)) {
		on_executed(tracer, tracee);
	} else if (!event && cpu_timer_has_expired(tid, WSTOPSIG(status), &expiry)) {
		on_expired(tracer, tracee, &expiry);
	} else if (!event && !tracer->leaving_ns && cpu_timer_is_pending(tracee)) {
		sample_early(tracer, tracee, WSTOPSIG(status));
	} else {
		resume(tid, PTRACE_CONT, event ? 0 : WSTOPSIG(status));
	}
}

void tracer_handle_stops(struct tracer *tracer)
{
	siginfo_t info = {0};
	int status;

	while (!waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | __WALL | WNOHANG | WNOWAIT) &&
		info.si_pid) {
		pid_t tid = info.si_pid;
		bool is_dead = info.si_code == CLD_EXITED || info.si_code == CLD_KILLED ||
			       info.si_code == CLD_DUMPED;

		if (is_dead)
			on_zombie(tracer, tid);
		if (waitpid(tid, &status, __WALL | WNOHANG) != tid)
			return;
		if (WIFSTOPPED(status))
			on_status(tracer, tid, status);
		else
			on_reaped(tracer, tid);
		info.si_pid = 0;
	}
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void run_command(struct tracer *tracer)
{
	struct command command;
	struct command_answer answer = {0};
	ssize_t got = recv(tracer->config.commands, &command, sizeof(command), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* If no whole command was received, flamerun has ended or closed its end of the socket. */
	if (got != sizeof(command))
		command.kind = COMMAND_FINISH;
	if (command.kind == COMMAND_FINISH) {
		tracer->leaving_ns = clock_now_ns();
		return;
	}
	answer.error = attach_process(tracer, command.pid,
		command.kind == COMMAND_AWAIT ? ATTACH_EXEC : ATTACH_NOW,
		procfs_cpu_ns((uint32_t)command.pid), &answer.message);
	send(tracer->config.commands, &answer, sizeof(answer), MSG_NOSIGNAL);
}

/* Write the last records when sampling has ended. */
static void put_final_records(struct tracer *tracer)
{
	struct tracee *tracee = NULL;
	struct record end;

	if (tracer->waits)
		target_waits_finish(tracer->waits);
	while ((tracee = tracees_next(&tracer->tracees, tracee)))
		sample_credit_thread(tracer, tracee);
	for (struct target *target = tracer->targets; target; target = target->next) {
		uint64_t cpu_ns = procfs_cpu_ns((uint32_t)target->pid);

		if (target->is_waiting)
			continue;
		if (cpu_ns)
			target->cpu_ns = cpu_ns;
		sample_credit_target(tracer, target);
		target_end(target, &tracer->shared, false, false);
	}
	if (tracer->uninjected)
		uninjected_finish(tracer);
	for (unsigned i = 0; i < TRACER_REASONS && tracer->reasons[i].why; i++)
		pipe_writer_put_refusal(tracer->shared.pipe_writer, tracer->reasons[i].programs,
			true, tracer->reasons[i].why);
	pipe_writer_put(tracer->shared.pipe_writer, RECORD_TOTALS, &tracer->totals,
		sizeof(tracer->totals), NULL, 0);
	pipe_writer_put(tracer->shared.pipe_writer, RECORD_END, &end, sizeof(end), NULL, 0);
}

/* Sleep until @tick_ns, or until a stop or a command arrives. */
static void sleep_until(struct pollfd files[2], uint64_t tick_ns)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t left_ns = tick_ns > now_ns ? tick_ns - now_ns : 0;
	struct timespec patience = {
		.tv_sec = (time_t)(left_ns / NS_PER_S), .tv_nsec = (long)(left_ns % NS_PER_S)};
	struct signalfd_siginfo info;

	ppoll(files, 2, &patience, NULL);
	while (read(files[0].fd, &info, sizeof(info)) > 0)
		;
}

/* Run the sampling checks that are due. Returns the CLOCK_MONOTONIC ns of the next check. */
static uint64_t sample_due(struct tracer *tracer, uint64_t *tick_ns, uint64_t *uninjected_ns)
{
	uint64_t now_ns = clock_now_ns();

	if (tracer->uninjected && now_ns >= *uninjected_ns)
		*uninjected_ns = uninjected_scan(tracer, now_ns);
	if (now_ns >= *tick_ns) {
		for (struct target *target = tracer->targets; target; target = target->next)
			uninjected_has_library(tracer, target);
		sample_round(tracer);
		*tick_ns = now_ns + ROUND_NS;
	}
	if (tracer->uninjected && (!tracer->targets || *uninjected_ns < *tick_ns))
		return *uninjected_ns;
	return *tick_ns;
}

/* Run the sampling checks and waits rounds that are due. Returns the time of the next in ns. */
static uint64_t run_due(struct tracer *tracer, uint64_t *tick_ns, uint64_t *uninjected_ns)
{
	uint64_t next_ns = sample_due(tracer, tick_ns, uninjected_ns), check_ns;

	if (!tracer->waits || !tracer->targets)
		return next_ns;
	check_ns = target_waits_round(tracer->waits);
	return check_ns < next_ns ? check_ns : next_ns;
}

/* Read new mappings, and attach to new threads if the number of threads has grown. */
static void scan_targets(struct tracer *tracer)
{
	uint64_t now_ns = clock_now_ns();

	for (struct target *target = tracer->targets; target; target = target->next) {
		if (target->is_idle || target->is_waiting)
			continue;
		if (now_ns - target->mapped_ns > REMAP_NS)
			target_remap(target, &tracer->shared);
		if (now_ns < target->scan_ns)
			continue;
		target->scan_ns = now_ns + SCAN_NS;
		if (procfs_thread_count(target->pid) > target->threads)
			attach_new_threads(tracer, target);
	}
}

/* Have all active processes deleted their timers, or has waiting for that taken too long? */
static bool has_left_all(const struct tracer *tracer)
{
	const struct target *target = tracer->targets;

	while (target && (target->is_left || target->is_idle || target->is_waiting))
		target = target->next;
	return !target || clock_now_ns() - tracer->leaving_ns > LEAVE_NS + 2 * tracer->period_ns;
}

static void *run_tracer(void *argument)
{
	struct tracer *tracer = argument;
	uint64_t tick_ns = 0, uninjected_ns = 0, next_ns = 0;
	bool had_targets = false;
	sigset_t children;
	struct pollfd files[2];

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	files[0] = (struct pollfd){
		.fd = signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC), .events = POLLIN};
	files[1] = (struct pollfd){.fd = tracer->config.commands, .events = POLLIN};
	/* Loop until sampling ends by a command, the pipe has no reader, or no target is left. */
	while (!tracer->is_finished && !(had_targets && !tracer->targets && !tracer->uninjected)) {
		sleep_until(files, next_ns);
		tracer_handle_stops(tracer);
		if (files[1].revents && !tracer->leaving_ns)
			run_command(tracer);
		had_targets |= tracer->targets != NULL;
		if (tracer->leaving_ns) {
			tracer->is_finished = has_left_all(tracer);
			next_ns = clock_now_ns() + NS_PER_MS;
			continue;
		}
		next_ns = run_due(tracer, &tick_ns, &uninjected_ns);
		scan_targets(tracer);
		if (pipe_writer_flush(tracer->shared.pipe_writer) < 0)
			break;
	}
	put_final_records(tracer);
	return NULL;
}

/* Raise the limit of descriptors, because each traced thread needs one. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int tracer_main(const struct tracer_config *config)
{
	struct tracer *tracer = calloc(1, sizeof(*tracer));
	pthread_t thread;

	if (!tracer)
		return EXIT_FAILURE;
	raise_file_limit();
	tracer->config = *config;
	tracer->period_ns = NS_PER_S / config->rate_hz;
	tracer->random = clock_now_ns() * 0x9e3779b97f4a7c15ULL | 1;
	tracer->shared.pipe_writer = &tracer->pipe_writer;
	tracer->pipe_writer.descriptor = config->pipe;
	tracer->shared.images = RECORD_TRACER_IMAGES;
	if (config->waits)
		tracer->waits = target_waits_new(&(struct target_waits_config){
			.shared = &tracer->shared,
			.period_ns = tracer->period_ns,
			.has_details = config->wait_details,
		});
	if (config->arena)
		tracer->uninjected = uninjected_new(config->arena, config->arena_descriptor);
	if (own_stack_thread(&thread, run_tracer, tracer))
		return EXIT_FAILURE;
	pthread_join(thread, NULL);
	pipe_writer_finish(tracer->shared.pipe_writer);
	target_waits_free(tracer->waits);
	tracees_release(&tracer->tracees);
	while (tracer->targets) {
		struct target *target = tracer->targets;

		tracer->targets = target->next;
		target_free(target);
	}
	uninjected_free(tracer->uninjected);
	objects_release(&tracer->shared.objects);
	pipe_writer_release(tracer->shared.pipe_writer);
	free(tracer);
	return EXIT_SUCCESS;
}
