/* SPDX-License-Identifier: MIT */
/*
 * Sample traced threads: write records, read stacks, choose threads to stop, and record credit.
 * Credit is a sample record with a weight and no stack, for CPU time that no sample covers.
 */
#include "cli/outside/sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

#include "arch/ptrace.h"
#include "cli/clock.h"
#include "cli/outside/cpu_timer.h"
#include "cli/outside/remote_call.h"
#include "cli/outside/stackwalk.h"
#include "libprof/procfs.h"

#define NS_PER_MS 1000000ULL

/* ---- records --------------------------------------------------------------------------------- */

void sample_begin(struct tracer *tracer, struct tracee *tracee)
{
	tracee->due_ns = 0;
	tracee->is_blocking = false;
	cpu_timer_set_way(tracer, tracee, tracee->target->stops_why ? WAY_STOPS : WAY_WAITING);
}

/* Record @tracee's name before its first sample. */
static void announce_thread(struct tracer *tracer, struct tracee *tracee)
{
	struct record_thread record = {.image = tracee->target->image,
		.number = (uint32_t)tracee->tid,
		.tid = (uint32_t)tracee->tid};

	if (tracee->is_announced)
		return;
	procfs_comm(tracee->target->pid, tracee->tid, record.comm);
	pipe_writer_put(
		tracer->shared.pipe_writer, RECORD_THREAD, &record, sizeof(record), NULL, 0);
	tracee->is_announced = true;
}

static void put_sample(struct tracer *tracer, struct tracee *tracee, struct record_sample *record)
{
	if (!record->weight && !record->frames)
		return;
	announce_thread(tracer, tracee);
	record->image = tracee->target->image;
	record->thread = (uint32_t)tracee->tid;
	record->time_ns = clock_now_ns();
	if (pipe_writer_put(tracer->shared.pipe_writer, RECORD_SAMPLE, record, sizeof(*record),
		    tracer->frames, record->frames * sizeof(tracer->frames[0])))
		tracer->totals.counts.dropped += record->weight;
}

/* Record @weight plus tracee->credit as a sample without a stack. */
static void put_credit(struct tracer *tracer, struct tracee *tracee, uint32_t weight)
{
	struct record_sample record = {.kind = WIRE_KIND_CREDIT, .weight = weight + tracee->credit};

	tracee->credit = 0;
	put_sample(tracer, tracee, &record);
}

/* ---- a stop and its stack -------------------------------------------------------------------- */

/* Least number of bytes of a stack that are copied. */
#define STACK_BYTES_MIN (16u << 10)
/* Copy this many bytes more than the last walk read. */
#define STACK_BYTES_MORE (8u << 10)
/* If a walk read less than was copied, reduce the number of bytes to copy by 1/STACK_SHRINK. */
#define STACK_SHRINK 64u

struct stop {
	uint64_t regset[REMOTE_REGSET_WORDS];
	struct arch_registers registers;
	size_t stack_bytes; /* in tracer->stack */
	/* CLOCK_MONOTONIC ns at which the tracer noticed the stop. */
	uint64_t since_ns;
};

static int read_registers(const struct tracee *tracee, struct stop *stop)
{
	int error = remote_get_registers(tracee->tid, stop->regset);

	if (!error)
		arch_registers_from_regset(&stop->registers, stop->regset);
	return error;
}

/* Copy target->stack_bytes of the stack, but stop at the end of the stack's mapping. */
static void copy_stack(struct tracer *tracer, struct tracee *tracee, struct stop *stop)
{
	uintptr_t sp = stop->registers.r[ARCH_DWARF_SP];
	const struct mapping *mapping = maps_find(&tracee->target->maps, sp);
	size_t bytes = tracee->target->stack_bytes;
	struct iovec local = {.iov_base = tracer->stack};
	struct iovec remote = {.iov_base = (void *)sp};
	ssize_t got;

	if (mapping && mapping->end - sp < bytes)
		bytes = mapping->end - sp;
	local.iov_len = remote.iov_len = bytes;
	got = process_vm_readv(tracee->target->pid, &local, 1, &remote, 1, 0);
	if (got < 0 && errno == EPERM)
		got = pread(tracee->target->memory, tracer->stack, bytes, (off_t)sp);
	stop->stack_bytes = got > 0 ? (size_t)got : 0;
}

/* Must threads of @target stay stopped while their stacks are walked? sample.h says when. */
static bool is_held(const struct target *target)
{
	return target->language || target->has_other_stacks;
}

static void resume_tracee(struct tracer *tracer, struct tracee *tracee, const struct stop *stop,
	int request, int signal)
{
	ptrace(request, tracee->tid, NULL, (void *)(intptr_t)signal);
	tracer->totals.counts.stops++;
	tracer->totals.counts.held_ns += clock_now_ns() - stop->since_ns;
}

/*
 * Adapt the number of bytes to copy to the number that the last walk read: grow at once, shrink
 * slowly. All threads of @target share one number, because coroutines move between threads.
 */
static void learn_stack(struct target *target, const struct stop *stop, uintptr_t last_read)
{
	uintptr_t used = last_read - stop->registers.r[ARCH_DWARF_SP];
	size_t kept = target->stack_bytes - target->stack_bytes / STACK_SHRINK;

	if (used >= TRACER_STACK_BYTES)
		return; /* on another stack */
	if (used + sizeof(uintptr_t) > stop->stack_bytes)
		/* It is not known how much more the walk needed: double the size. */
		used *= 2;
	target->stack_bytes = used + STACK_BYTES_MORE > kept ? used + STACK_BYTES_MORE : kept;
	if (target->stack_bytes < STACK_BYTES_MIN)
		target->stack_bytes = STACK_BYTES_MIN;
	if (target->stack_bytes > TRACER_STACK_BYTES)
		target->stack_bytes = TRACER_STACK_BYTES;
}

/*
 * Walk the stack of @tracee into tracer->frames. If the thread @is_stopped, read the stack from its
 * memory, otherwise from the copy in tracer->stack.
 */
static struct unwind_result walk_stack(
	struct tracer *tracer, struct tracee *tracee, const struct stop *stop, bool is_stopped)
{
	struct stackwalk walk = {.target = tracee->target,
		.shared = &tracer->shared,
		.memory = &tracer->memory,
		.is_native = !is_stopped};
	struct unwind_result result, other;

	if (is_stopped)
		memory_begin(&tracer->memory, tracee->target->pid);
	else
		memory_begin_copied(&tracer->memory, tracee->target->pid, tracer->stack,
			stop->registers.r[ARCH_DWARF_SP], stop->stack_bytes);
	walk.runs.thread = (struct runtime_thread){
		.self = arch_thread_self(stop->regset), .tid = (uint32_t)tracee->tid};
	walk.runs.known = tracee->runtime_state;
	result = stackwalk_run(&walk, &stop->registers, tracer->frames);
	tracer->totals.unknown_runtimes |= tracee->target->unknown_runtimes;
	if (is_stopped) {
		tracee->runtime_state = walk.runs.known;
		tracer->totals.counts.kept_native += !walk.runs.is_whole;
	} else {
		learn_stack(tracee->target, stop, walk.last_read);
	}
	/* If the walk failed, try libunwind: a wrong register rule leads to unmapped memory. */
	if (result.end != WIRE_END_LOST && result.end != WIRE_END_MEMORY)
		return result;
	other = fallback_run(&walk, &stop->registers, tracer->other_frames);
	if (other.frames <= result.frames)
		return result;
	tracer->totals.counts.fallbacks++;
	memcpy(tracer->frames, tracer->other_frames, other.frames * sizeof(tracer->frames[0]));
	return other;
}

/*
 * Write the stack of @tracee to tracer->frames and resume the thread, before the walk if possible.
 */
static struct unwind_result walk_and_resume(struct tracer *tracer, struct tracee *tracee,
	const struct stop *stop, int request, int signal)
{
	bool is_stopped = is_held(tracee->target);
	struct unwind_result result;

	if (!is_stopped)
		resume_tracee(tracer, tracee, stop, request, signal);
	result = walk_stack(tracer, tracee, stop, is_stopped);
	if (is_stopped)
		resume_tracee(tracer, tracee, stop, request, signal);
	return result;
}

/* Record a sample of @weight with the stack in tracer->frames. @stack is the walk's result. */
static void put_stack(
	struct tracer *tracer, struct tracee *tracee, struct unwind_result stack, uint32_t weight)
{
	struct record_sample record = {.kind = WIRE_KIND_CPU,
		.end = (uint8_t)stack.end,
		.frames = stack.frames,
		.weight = weight};

	put_sample(tracer, tracee, &record);
}

void sample_early(struct tracer *tracer, struct tracee *tracee, int signal)
{
	struct stop stop = {.since_ns = clock_now_ns()};
	struct unwind_result result;

	if (tracee->early || read_registers(tracee, &stop)) {
		ptrace(PTRACE_CONT, tracee->tid, NULL, (void *)(intptr_t)signal);
		return;
	}
	tracees_update(tracee);
	if (!is_held(tracee->target))
		copy_stack(tracer, tracee, &stop);
	result = walk_and_resume(tracer, tracee, &stop, PTRACE_CONT, signal);
	tracee->early =
		malloc(sizeof(*tracee->early) + result.frames * sizeof(tracee->early->frames[0]));
	if (!tracee->early)
		return;
	tracee->early->cpu_ns = tracee->used.cpu_ns;
	tracee->early->end = result.end;
	tracee->early->count = result.frames;
	memcpy(tracee->early->frames, tracer->frames, result.frames * sizeof(tracer->frames[0]));
}

/*
 * Record a sample with the stack that sample_early() kept. This sample gets the part of @weight for
 * the CPU time until that stack was read; after that, the thread may have been in a signal handler
 * that blocks the timer's signal. Returns the weight of the sample.
 */
static uint32_t put_early(struct tracer *tracer, struct tracee *tracee, uint32_t weight)
{
	struct target_stack *early = tracee->early;
	uint64_t later = (tracees_update(tracee) - early->cpu_ns) / tracer->period_ns;

	tracee->early = NULL;
	weight = weight > later ? weight - (uint32_t)later : 0;
	memcpy(tracer->frames, early->frames, early->count * sizeof(tracer->frames[0]));
	if (weight)
		put_stack(tracer, tracee,
			(struct unwind_result){.frames = early->count, .end = early->end}, weight);
	free(early);
	return weight;
}

/* Count @expired periods as CPU time of @tracee. Returns the weight of the sample to record. */
static uint32_t count_expired(struct tracer *tracer, struct tracee *tracee, uint32_t expired)
{
	uint64_t counted_ns = expired * tracer->period_ns;

	if (tracee->way == WAY_STOPS) {
		/* Samples by stops have already counted a part of the expired periods. */
		tracee->is_blocking = false;
		cpu_timer_set_way(tracer, tracee, WAY_TIMER);
		return tracees_count(tracee, tracer->period_ns);
	}
	tracee->counted_ns += counted_ns;
	tracee->target->counted_ns += counted_ns;
	return expired;
}

void sample_expired(struct tracer *tracer, struct tracee *tracee, uint32_t expired)
{
	struct target *target = tracee->target;
	struct stop stop = {.since_ns = clock_now_ns()};
	uint32_t weight = count_expired(tracer, tracee, expired);
	int signal;

	target->sampled_ns = stop.since_ns;
	if (tracee->credit)
		put_credit(tracer, tracee, 0);
	if (tracee->early)
		weight -= put_early(tracer, tracee, weight);
	signal = cpu_timers_make(tracer, tracee);
	if (!weight || read_registers(tracee, &stop)) {
		ptrace(PTRACE_CONT, tracee->tid, NULL, (void *)(intptr_t)signal);
		return;
	}
	if (!is_held(target))
		copy_stack(tracer, tracee, &stop);
	put_stack(tracer, tracee, walk_and_resume(tracer, tracee, &stop, PTRACE_CONT, signal),
		weight);
}

/*
 * If a thread used more CPU time than this before its process's first stop, record this time
 * without a stack, because the stack of that stop says little about so long a time.
 */
#define LATELY_NS (150 * NS_PER_MS)

/*
 * Returns the weight of the sample of @tracee, which was asked to stop; 0 if its CPU time should be
 * recorded without a stack.
 */
static uint32_t count_asked(struct tracer *tracer, struct tracee *tracee)
{
	if (tracee->way == WAY_WAITING &&
		(tracee->seen.state == 'S' ||
			tracees_update(tracee) - tracee->counted_ns > LATELY_NS))
		return 0;
	return tracees_count(tracee, tracer->period_ns);
}

/*
 * If this stop interrupted a system call of @tracee, make the kernel restart the call if that is
 * safe. A call that has done nothing yet would return EINTR: replace this result by the kernel's
 * own code for "restart unless a handler runs".
 */
static void restart_call(const struct tracee *tracee, struct stop *stop)
{
	if (arch_in_syscall(tracee->tid, stop->regset) && arch_regset_restart(stop->regset))
		remote_set_registers(tracee->tid, stop->regset);
}

void sample_continued(struct tracee *tracee)
{
	struct stop stop;

	if (!tracee->was_stopped && !read_registers(tracee, &stop))
		restart_call(tracee, &stop);
	ptrace(PTRACE_CONT, tracee->tid, NULL, NULL);
}

void sample_stopped(struct tracer *tracer, struct tracee *tracee, int request)
{
	struct stop stop = {.since_ns = clock_now_ns()};
	uint32_t weight = count_asked(tracer, tracee);
	int signal = 0;

	tracee->is_asked = false;
	if (request == PTRACE_CONT)
		signal = cpu_timers_make(tracer, tracee);
	if (read_registers(tracee, &stop)) {
		ptrace(request, tracee->tid, NULL, (void *)(intptr_t)signal);
		return;
	}
	restart_call(tracee, &stop);
	if (!weight) {
		resume_tracee(tracer, tracee, &stop, request, signal);
		return;
	}
	if (!is_held(tracee->target))
		copy_stack(tracer, tracee, &stop);
	put_stack(tracer, tracee, walk_and_resume(tracer, tracee, &stop, request, signal), weight);
}

/* ---- which threads to stop ------------------------------------------------------------------- */

/*
 * In /proc the kernel adds time to a thread's system time at ticks of 10 ms. If a thread used this
 * much CPU time and its system time did not grow, the thread is not in a long system call.
 */
#define USER_NS (12 * NS_PER_MS)
/* Stop a thread that used this much CPU time, even if it was never seen in user mode. */
#define PATIENCE_NS (250 * NS_PER_MS)
/* If a thread of the process stopped within this time, ask for no stop: wait for its next one. */
#define SOON_NS (100 * NS_PER_MS)

/* Ask @tracee to stop at once. This may cut its system call short. */
static void request_stop(struct tracee *tracee)
{
	/* PTRACE_INTERRUPT fails if the thread is about to end. */
	if (tracee->is_asked || ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL))
		return;
	tracee->is_asked = true;
	tracee->target->sampled_ns = clock_now_ns();
}

/* Was @tracee always in user mode in its last USER_NS of CPU time, as far as ticks show? */
static bool is_in_user_mode(struct tracee *tracee)
{
	uint64_t kernel_ticks = tracee->seen.kernel_ticks;

	if (tracees_read_stat(tracee))
		return false;
	if (tracee->seen.kernel_ticks != kernel_ticks)
		tracee->user_since_ns = tracee->used.cpu_ns;
	return tracee->used.cpu_ns - tracee->user_since_ns >= USER_NS;
}

/* Is @tracee asleep in a system call that the kernel restarts after a stop? */
static bool sleeps_restartably(const struct tracee *tracee)
{
	int file = procfs_open(tracee->target->pid, tracee->tid, "syscall");
	struct procfs_syscall call;
	int error = file < 0 ? file : procfs_syscall_read(file, &call);

	procfs_close(file);
	return !error && arch_is_restarted(call.number);
}

/* Should @tracee be stopped, so that timers can be made for its process? */
static bool wants_first_stop(struct tracee *tracee, uint64_t now_ns)
{
	bool is_due = tracee->used.cpu_ns - tracee->counted_ns >= PATIENCE_NS;

	if (now_ns - tracee->target->sampled_ns < SOON_NS)
		return false;
	is_due |= is_in_user_mode(tracee);
	return tracee->seen.state == 'S' ? sleeps_restartably(tracee)
					 : is_due && tracee->seen.state == 'R';
}

/*
 * Should @tracee, without a timer, be stopped for a sample? Yes if it is running, has used a period
 * of CPU time, and was in user mode since the last sample.
 */
static bool wants_sample(const struct tracer *tracer, struct tracee *tracee)
{
	uint64_t user_ticks = tracee->seen.user_ticks;

	if (tracee->due_ns + tracee->used.cpu_ns - tracee->counted_ns < tracer->period_ns)
		return false;
	return !tracees_read_stat(tracee) && tracee->seen.user_ticks != user_ticks &&
	       tracee->seen.state == 'R';
}

static void check_thread(struct tracer *tracer, struct tracee *tracee, uint64_t now_ns)
{
	uint64_t before_ns = tracee->used.cpu_ns;
	bool is_wanted;

	if (tracee->target->is_idle || tracee->target->is_waiting || tracee->is_asked ||
		tracees_update(tracee) == before_ns)
		return;
	is_wanted = tracee->way == WAY_WAITING ? wants_first_stop(tracee, now_ns)
					       : wants_sample(tracer, tracee);
	if (is_wanted && tracees_is_worker(tracee))
		cpu_timer_set_way(tracer, tracee, WAY_WORKER);
	else if (is_wanted)
		request_stop(tracee);
}

/* CPU time that may be missing from samples because timers have not expired yet. */
#define UNSEEN_NS (30 * NS_PER_MS)

/*
 * Does @tracee block the timers' signal, and is more than @limit_ns of its CPU time in no sample?
 */
static bool is_blocking(struct tracee *tracee, uint64_t limit_ns)
{
	struct procfs_status status;

	return tracees_update(tracee) >= tracee->counted_ns + limit_ns &&
	       !procfs_status(tracee->target->pid, tracee->tid, &status) &&
	       status.blocked & 1ULL << (CPU_TIMER_SIGNAL - 1);
}

/*
 * If CPU time of @target is missing from samples, find threads that block the timers' signal by a
 * raw system call. Sample such a thread by stops until it unblocks the signal. The signal must be
 * blocked at two checks, because glibc blocks all signals for a moment when it creates threads and
 * processes.
 */
static void check_timers(struct tracer *tracer, struct target *target)
{
	uint64_t limit_ns = UNSEEN_NS + 2 * tracer->period_ns;
	uint64_t used_ns = target->cpu_ns - target->start_cpu_ns;
	struct tracee *tracee = NULL;

	if (target->waiting || target->is_idle || target->is_waiting ||
		used_ns < target->counted_ns + limit_ns + target->threads * tracer->period_ns)
		return;
	while ((tracee = tracees_next(&tracer->tracees, tracee))) {
		bool was_blocking = tracee->is_blocking;

		if (tracee->target != target || tracee->way != WAY_TIMER)
			continue;
		tracee->is_blocking = is_blocking(tracee, limit_ns);
		if (!tracee->is_blocking || tracees_read_stat(tracee) || !was_blocking)
			continue;
		cpu_timer_set_way(tracer, tracee, WAY_STOPS);
		if (!target->is_blocking)
			cpu_timer_refuse(tracer, "it blocks signal 33");
		target->is_blocking = true;
	}
}

static void check_target(struct target *target)
{
	uint64_t cpu_ns = procfs_cpu_ns((uint32_t)target->pid);

	if (target->is_waiting)
		return;
	target->is_idle = cpu_ns == target->cpu_ns;
	if (cpu_ns)
		target->cpu_ns = cpu_ns;
}

void sample_round(struct tracer *tracer)
{
	uint64_t now_ns = clock_now_ns();
	struct tracee *tracee = NULL;

	for (struct target *target = tracer->targets; target; target = target->next) {
		check_target(target);
		check_timers(tracer, target);
	}
	while ((tracer->waiting || tracer->by_stops) &&
		(tracee = tracees_next(&tracer->tracees, tracee)))
		if (tracee->way == WAY_WAITING || tracee->way == WAY_STOPS)
			check_thread(tracer, tracee, now_ns);
}

/* ---- credit ---------------------------------------------------------------------------------- */

void sample_credit_thread(struct tracer *tracer, struct tracee *tracee)
{
	struct record_sample worker = {.kind = WIRE_KIND_CPU, .end = WIRE_END_ROOT, .frames = 1};
	struct target *target = tracee->target;
	int64_t period_ns = (int64_t)tracer->period_ns, remaining_ns;
	uint32_t weight = 0;

	if (target->is_waiting)
		return;
	/*
	 * A thread's samples may weigh less than its CPU time, or more, because its first period is
	 * shorter. Carry the difference over from thread to thread, so that the sum of weights is
	 * right even if many threads end before their first sample.
	 */
	remaining_ns = (int64_t)(tracees_update(tracee) - tracee->counted_ns);
	tracee->counted_ns += (uint64_t)remaining_ns;
	target->counted_ns += (uint64_t)remaining_ns;
	tracer->ended_due_ns += remaining_ns + (int64_t)tracee->due_ns;
	tracee->due_ns = 0;
	if (tracer->ended_due_ns >= period_ns) {
		weight = (uint32_t)(tracer->ended_due_ns / period_ns);
		tracer->ended_due_ns %= period_ns;
	}
	if (tracee->way != WAY_WORKER &&
		(tracee->way != WAY_WAITING || !tracees_is_worker(tracee))) {
		put_credit(tracer, tracee, weight);
		return;
	}
	/* Record a kernel worker's time under a frame of its own instead of as credit. */
	worker.weight = weight;
	tracer->frames[0] = WIRE_FRAME_IO_WORKER;
	if (weight)
		put_sample(tracer, tracee, &worker);
}

void sample_credit_target(struct tracer *tracer, struct target *target)
{
	struct record_sample record = {
		.image = target->image, .time_ns = clock_now_ns(), .kind = WIRE_KIND_CREDIT};
	uint64_t used_ns, weight;

	if (target->is_waiting)
		return;
	used_ns = target->cpu_ns > target->start_cpu_ns ? target->cpu_ns - target->start_cpu_ns : 0;
	if (used_ns <= target->counted_ns)
		return;
	weight = (used_ns - target->counted_ns + tracer_random(tracer, tracer->period_ns)) /
		 tracer->period_ns;
	record.weight = weight > UINT32_MAX ? UINT32_MAX : (uint32_t)weight;
	if (record.weight && pipe_writer_put(tracer->shared.pipe_writer, RECORD_SAMPLE, &record,
				     sizeof(record), NULL, 0))
		tracer->totals.counts.dropped += record.weight;
}
