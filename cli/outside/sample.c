/* SPDX-License-Identifier: MIT */
/*
 * Looking, stopping, counting.
 */
#include "cli/outside/sample.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "arch/ptrace.h"
#include "cli/outside/attach.h"
#include "cli/outside/fallback.h"
#include "cli/outside/procfs.h"
#include "cli/outside/stackwalk.h"
#include "cli/run/process.h"
#include "cli/run/watch.h"

#define REMAP_NS  1000000000ULL
#define PUSHED_NS 30000ULL

void sample_begin(struct tracer *tracer, struct tracee *tracee)
{
	if (tracer->config.wall)
		tracee->counted_ns = watch_now_ns();
	/* A random part of a period, so that those that end early are counted as often as due. */
	tracee->owed_ns = tracer_random(tracer, tracer->period_ns);
}

/* Tell of @tracee before the first record that names it. */
static void meet(struct tracer *tracer, struct tracee *tracee)
{
	struct record_thread record = {
		.image = tracee->target->image, .tid = (uint32_t)tracee->tid};

	if (tracee->is_met)
		return;
	procfs_comm(tracee->target->pid, tracee->tid, record.comm);
	outbox_put(&tracer->shared.outbox, RECORD_THREAD, &record, sizeof(record), NULL, 0);
	tracee->is_met = true;
}

/* Whole samples that are due for @tracee by @now_ns of its clock; the rest stays owed. */
static uint32_t due(struct tracer *tracer, struct tracee *tracee, uint64_t now_ns)
{
	uint64_t spent_ns = now_ns > tracee->counted_ns ? now_ns - tracee->counted_ns : 0;
	uint64_t weight;

	tracee->counted_ns = now_ns;
	tracee->target->counted_ns += spent_ns;
	tracee->owed_ns += spent_ns;
	weight = tracee->owed_ns / tracer->period_ns;
	tracee->owed_ns %= tracer->period_ns;
	return weight > UINT32_MAX ? UINT32_MAX : (uint32_t)weight;
}

static void put(struct tracer *tracer, struct tracee *tracee, struct record_sample *record)
{
	if (!record->weight && !record->frames)
		return;
	meet(tracer, tracee);
	record->image = tracee->target->image;
	record->tid = (uint32_t)tracee->tid;
	record->time_ns = watch_now_ns();
	if (outbox_put(&tracer->shared.outbox, RECORD_SAMPLE, record, sizeof(*record),
		    tracer->frames, record->frames * sizeof(tracer->frames[0])))
		tracer->totals.dropped += record->weight;
	else if (record->frames)
		tracee->has_stack = true;
}

/* The clock samples are counted by. */
static uint64_t clock_of(const struct tracer *tracer, struct tracee *tracee)
{
	uint64_t cpu_ns = tracees_look(tracee);

	return tracer->config.wall ? watch_now_ns() : cpu_ns;
}

/* Stack of a stopped thread into tracer->frames. */
static struct unwind_result take_stack(
	struct tracer *tracer, struct tracee *tracee, const void *regset)
{
	struct stackwalk walk = {
		.target = tracee->target, .shared = &tracer->shared, .memory = &tracer->memory};
	struct arch_registers registers;
	struct unwind_result result, other;

	arch_registers_from_regset(&registers, regset);
	memory_begin(&tracer->memory, tracee->target->pid);
	result = stackwalk_run(&walk, &registers, tracer->frames);
	if (result.end != WIRE_END_LOST)
		return result;
	other = fallback_run(&walk, &registers, tracer->other_frames);
	if (other.frames <= result.frames)
		return result;
	tracer->totals.fallbacks++;
	memcpy(tracer->frames, tracer->other_frames, other.frames * sizeof(tracer->frames[0]));
	return other;
}

/*
 * Was the thread, stopped now, on a CPU when we came to look at it? Not when it has gone to sleep
 * before it could be stopped. When it was given no CPU since then it had one. When it was, it had
 * been waiting for one: if since we were woken, it was we who pushed it off; if for longer, it may
 * have slept until then, and on a busy machine its sleep would be shown as work.
 *
 *	waits for a CPU      given one: runs, stops
 *	|--------------------|- -|
 *	begun            woken_ns of this stop, to within a few microseconds
 */
static bool was_running(
	const struct tracer *tracer, const struct tracee *tracee, const void *regset)
{
	uint64_t begun_ns = tracer->woken_ns - (tracee->waited_ns - tracee->asked_waited_ns);

	if (arch_in_syscall(tracee->tid, regset) && arch_regset_slept(regset))
		return false;
	return tracee->turns == tracee->asked_turns ||
	       (begun_ns + PUSHED_NS >= tracee->asked_since_ns &&
		       begun_ns <= tracee->asked_since_ns + PUSHED_NS);
}

void sample_unask(struct tracer *tracer, struct tracee *tracee)
{
	if (tracee->asked_ns)
		tracer->asked--;
	tracee->asked_ns = 0;
}

void sample_stopped(struct tracer *tracer, struct tracee *tracee, int request, int signal)
{
	uint64_t regset[ARCH_REGSET_BYTES / 8];
	struct iovec iov = {.iov_base = regset, .iov_len = sizeof(regset)};
	bool is_known = !ptrace(PTRACE_GETREGSET, tracee->tid, (void *)NT_PRSTATUS, &iov) &&
			iov.iov_len == sizeof(regset);
	uint64_t now_ns = clock_of(tracer, tracee);
	bool ran = !is_known || was_running(tracer, tracee, regset);
	struct record_sample record = {
		.kind = ran ? WIRE_KIND_CPU : WIRE_KIND_OFF, .end = WIRE_END_LOST};

	if (ran || tracer->config.wall)
		record.weight = due(tracer, tracee, now_ns);
	/* Code that waits for a CPU, outside of any call, is good enough to go back to. */
	if (is_known && (record.weight || (!tracee->has_stack &&
		(ran || !arch_in_syscall(tracee->tid, regset))))) {
		struct unwind_result result = take_stack(tracer, tracee, regset);

		record.frames = result.frames;
		record.end = (uint8_t)result.end;
	}
	if (tracer->config.wall)
		tracee->switches = procfs_number(tracee->tid, "voluntary_ctxt_switches");
	ptrace(request, tracee->tid, NULL, (void *)(intptr_t)signal);
	tracer->totals.stops++;
	tracer->totals.held_ns += watch_now_ns() -
		(tracee->asked_ns > tracer->woken_ns ? tracee->asked_ns : tracer->woken_ns);
	sample_unask(tracer, tracee);
	put(tracer, tracee, &record);
}

static void ask(struct tracer *tracer, struct tracee *tracee)
{
	tracer->asked++;
	tracee->asked_ns = watch_now_ns();
	tracee->asked_waited_ns = tracee->waited_ns;
	tracee->asked_turns = tracee->turns;
	tracee->asked_since_ns = tracer->woken_ns;
	if (ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL))
		sample_unask(tracer, tracee); /* it is on its way out */
}

/*
 * A thread is stopped when it makes a whole sample. And once before: threads that live for less
 * than a period are credited with what they used at their end, and that is to go on a stack of
 * theirs.
 */
static void look_by_cpu(struct tracer *tracer, struct tracee *tracee)
{
	uint64_t now_ns = clock_of(tracer, tracee);
	uint64_t spent_ns = now_ns > tracee->counted_ns ? now_ns - tracee->counted_ns : 0;
	bool is_due = tracee->owed_ns + spent_ns >= tracer->period_ns;
	bool is_new = !tracee->has_stack && (spent_ns || !now_ns);

	if ((is_due || is_new) && procfs_state(tracee->target->pid, tracee->tid) == 'R')
		ask(tracer, tracee);
}

/*
 * With --wall: a thread that has not run since its stack was taken still has it. After the stop it
 * went to sleep once more, which is no news.
 */
static void look_by_wall(struct tracer *tracer, struct tracee *tracee)
{
	struct record_sample record = {.kind = WIRE_KIND_OFF};
	long switches;

	if (tracee->owed_ns + (watch_now_ns() - tracee->counted_ns) < tracer->period_ns)
		return;
	switches = procfs_number(tracee->tid, "voluntary_ctxt_switches");

	if (procfs_state(tracee->target->pid, tracee->tid) == 'R' || !tracee->has_stack ||
		tracee->switches < 0 || switches > tracee->switches + 1) {
		ask(tracer, tracee);
		return;
	}
	record.weight = due(tracer, tracee, watch_now_ns());
	put(tracer, tracee, &record);
}

static void look_at_target(const struct tracer *tracer, struct target *target)
{
	uint64_t cpu_ns = process_cpu_ns((uint32_t)target->pid);

	target->is_idle = !tracer->config.wall && cpu_ns == target->cpu_ns;
	if (cpu_ns)
		target->cpu_ns = cpu_ns;
}

static void look_at_thread(struct tracer *tracer, struct tracee *tracee)
{
	if (tracee->target->is_idle || tracee->target->is_waiting || tracee->asked_ns)
		return;
	if (tracer->config.wall)
		look_by_wall(tracer, tracee);
	else
		look_by_cpu(tracer, tracee);
}

void sample_tick(struct tracer *tracer)
{
	for (struct target *target = tracer->targets; target; target = target->next)
		look_at_target(tracer, target);
	for (struct tracee *tracee = tracees_next(&tracer->tracees, NULL); tracee;
		tracee = tracees_next(&tracer->tracees, tracee))
		look_at_thread(tracer, tracee);
}

void sample_upkeep(struct tracer *tracer)
{
	uint64_t now_ns = watch_now_ns();

	for (struct target *target = tracer->targets; target; target = target->next) {
		if (target->is_idle || target->is_waiting)
			continue;
		if (now_ns - target->scanned_ns >= tracer->period_ns) {
			target->scanned_ns = now_ns;
			attach_new_threads(tracer, target);
		}
		if (now_ns - target->mapped_ns > REMAP_NS)
			target_remap(target, &tracer->shared);
	}
}

void sample_last(struct tracer *tracer, struct tracee *tracee)
{
	struct record_sample record = {.kind = WIRE_KIND_CREDIT};

	if (tracee->target->is_waiting)
		return;
	record.weight = due(tracer, tracee, clock_of(tracer, tracee));
	put(tracer, tracee, &record);
}

void sample_settle(struct tracer *tracer, struct target *target)
{
	struct record_sample record = {
		.image = target->image, .time_ns = watch_now_ns(), .kind = WIRE_KIND_CREDIT};
	uint64_t used_ns, weight;

	if (tracer->config.wall || target->is_waiting)
		return;
	used_ns = target->cpu_ns > target->start_cpu_ns ? target->cpu_ns - target->start_cpu_ns : 0;
	if (used_ns <= target->counted_ns)
		return;
	weight = (used_ns - target->counted_ns + tracer_random(tracer, tracer->period_ns)) /
		 tracer->period_ns;
	record.weight = weight > UINT32_MAX ? UINT32_MAX : (uint32_t)weight;
	if (record.weight && outbox_put(&tracer->shared.outbox, RECORD_SAMPLE, &record,
				     sizeof(record), NULL, 0))
		tracer->totals.dropped += record.weight;
}
