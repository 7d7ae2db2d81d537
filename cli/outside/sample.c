/* SPDX-License-Identifier: MIT */
/*
 * Counting, and taking stacks.
 */
#include "cli/outside/sample.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "arch/ptrace.h"
#include "cli/clock.h"
#include "cli/gather/procfs.h"
#include "cli/outside/attach.h"
#include "cli/outside/fallback.h"
#include "cli/outside/look.h"
#include "cli/outside/stackwalk.h"

#define REMAP_NS     1000000000ULL
#define MANY_THREADS 32 /* looking for new ones takes long */

void sample_begin(struct tracer *tracer, struct tracee *tracee)
{
	struct target *target = tracee->target;

	if (tracer->config.wall)
		tracee->counted_ns = clock_now_ns();
	/*
	 * What threads that ended have left, or a random part of a period, on loan: of many threads
	 * that end early as many are counted as are due, and chances do not add up.
	 */
	if (!target->spare_ns)
		tracee->owed_ns = tracer_random(tracer, tracer->period_ns);
	else if (target->spare_ns > 0)
		tracee->owed_ns = (uint64_t)target->spare_ns % tracer->period_ns;
	target->spare_ns -= (int64_t)tracee->owed_ns;
}

/* Tell of @tracee before the first record that names it. */
static void meet(struct tracer *tracer, struct tracee *tracee)
{
	struct record_thread record = {
		.image = tracee->target->image, .number = (uint32_t)tracee->tid, .tid = (uint32_t)tracee->tid};

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
	record->thread = (uint32_t)tracee->tid;
	record->time_ns = clock_now_ns();
	if (outbox_put(&tracer->shared.outbox, RECORD_SAMPLE, record, sizeof(*record),
		    tracer->frames, record->frames * sizeof(tracer->frames[0])))
		tracer->totals.dropped += record->weight;
	else if (record->frames)
		tracee->has_stack = true;
}

uint64_t sample_clock(const struct tracer *tracer, struct tracee *tracee)
{
	uint64_t cpu_ns = tracees_look(tracee);

	return tracer->config.wall ? clock_now_ns() : cpu_ns;
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
	/* Where a register was taken for something else, memory may not be there. */
	if (result.end != WIRE_END_LOST && result.end != WIRE_END_MEMORY)
		return result;
	other = fallback_run(&walk, &registers, tracer->other_frames);
	if (other.frames <= result.frames)
		return result;
	tracer->totals.fallbacks++;
	memcpy(tracer->frames, tracer->other_frames, other.frames * sizeof(tracer->frames[0]));
	return other;
}

/* Where the stopped thread is, for looks that want to know whether it still is there. */
static void note_place(struct tracee *tracee, const void *regset)
{
	struct arch_registers registers;

	arch_registers_from_regset(&registers, regset);
	tracee->switches = procfs_number(tracee->tid, "voluntary_ctxt_switches");
	tracee->place = (struct procfs_place){
		registers.r[ARCH_DWARF_SP], registers.r[ARCH_DWARF_PC]};
	tracee->is_settled = false;
}

void sample_stopped(struct tracer *tracer, struct tracee *tracee, int request, int signal)
{
	uint64_t regset[ARCH_REGSET_BYTES / 8];
	struct iovec iov = {.iov_base = regset, .iov_len = sizeof(regset)};
	bool is_known = !ptrace(PTRACE_GETREGSET, tracee->tid, (void *)NT_PRSTATUS, &iov) &&
			iov.iov_len == sizeof(regset);
	uint64_t now_ns = sample_clock(tracer, tracee);
	uint64_t begun_ns;
	bool ran = !is_known || look_was_running(tracer, tracee, regset);
	struct record_sample record = {
		.kind = ran ? WIRE_KIND_CPU : WIRE_KIND_OFF, .end = WIRE_END_LOST};

	if (ran || tracer->config.wall)
		record.weight = due(tracer, tracee, now_ns);
	/* Code that waits for a CPU, outside of any call, is good enough to go back to. */
	if (is_known &&
		(record.weight ||
			(!tracee->has_stack && (ran || !arch_in_syscall(tracee->tid, regset))))) {
		struct unwind_result result = take_stack(tracer, tracee, regset);

		record.frames = result.frames;
		record.end = (uint8_t)result.end;
	}
	if (is_known && arch_in_syscall(tracee->tid, regset) &&
		arch_regset_restart(regset, !tracer->config.wall))
		ptrace(PTRACE_SETREGSET, tracee->tid, (void *)NT_PRSTATUS, &iov);
	if (tracer->config.wall)
		note_place(tracee, regset);
	ptrace(request, tracee->tid, NULL, (void *)(intptr_t)signal);
	tracer->totals.stops++;
	/* Whom we pushed off did not run in our turn before this one, either. */
	begun_ns = tracee->asked_ns > tracer->woken_ns ? tracee->asked_ns : tracer->woken_ns;
	tracer->totals.held_ns +=
		clock_now_ns() - begun_ns + (tracee->is_pushed && ran ? tracer->ran_ns : 0);
	look_unask(tracer, tracee);
	put(tracer, tracee, &record);
}

void sample_again(struct tracer *tracer, struct tracee *tracee)
{
	struct record_sample record = {.kind = WIRE_KIND_OFF};

	record.weight = due(tracer, tracee, clock_now_ns());
	put(tracer, tracee, &record);
}

void sample_upkeep(struct tracer *tracer)
{
	uint64_t now_ns = clock_now_ns();

	for (struct target *target = tracer->targets; target; target = target->next) {
		if (target->is_idle || target->is_waiting)
			continue;
		if (now_ns - target->scanned_ns >= tracer->period_ns) {
			target->scanned_ns = now_ns;
			if (target->threads > MANY_THREADS)
				place_aside(&tracer->place);
			attach_new_threads(tracer, target);
		}
		if (now_ns - target->mapped_ns > REMAP_NS) {
			place_aside(&tracer->place);
			target_remap(target, &tracer->shared);
		}
	}
}

void sample_last(struct tracer *tracer, struct tracee *tracee)
{
	struct record_sample record = {.kind = WIRE_KIND_CREDIT};
	struct target *target = tracee->target;

	if (target->is_waiting)
		return;
	record.weight = due(tracer, tracee, sample_clock(tracer, tracee));
	target->spare_ns += (int64_t)tracee->owed_ns;
	if (target->spare_ns >= (int64_t)tracer->period_ns) {
		target->spare_ns -= (int64_t)tracer->period_ns;
		record.weight++;
	}
	put(tracer, tracee, &record);
}

void sample_settle(struct tracer *tracer, struct target *target)
{
	struct record_sample record = {
		.image = target->image, .time_ns = clock_now_ns(), .kind = WIRE_KIND_CREDIT};
	uint64_t used_ns, weight;

	if (tracer->config.wall || target->is_waiting)
		return;
	used_ns = target->cpu_ns > target->start_cpu_ns ? target->cpu_ns - target->start_cpu_ns : 0;
	if (used_ns <= target->counted_ns)
		return;
	weight = (used_ns - target->counted_ns + tracer_random(tracer, tracer->period_ns)) /
		 tracer->period_ns;
	record.weight = weight > UINT32_MAX ? UINT32_MAX : (uint32_t)weight;
	if (record.weight &&
		outbox_put(&tracer->shared.outbox, RECORD_SAMPLE, &record, sizeof(record), NULL, 0))
		tracer->totals.dropped += record.weight;
}
