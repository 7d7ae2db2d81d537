/* SPDX-License-Identifier: MIT */
/*
 * Rounds of looks, counting, and taking stacks.
 */
#include "cli/outside/sample.h"

#include <elf.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "arch/ptrace.h"
#include "cli/clock.h"
#include "cli/outside/stackwalk.h"
#include "libprof/procfs.h"
#include "libprof/waits/wait_leaf.h"

#define SAME_NS	    500ULL  /* on the scheduler's clock */
#define BEFORE_NS   8000ULL /* how well moments are known on ours: measured */
#define AFTER_NS    4000ULL
#define PUSHED_MAX  4u	/* asked in one round: one of them was on the CPU when we came */
#define TRIES_MAX   3u	/* to get a first stack of a thread that is not due */
#define PERIODS_MAX 8u	/* of CPU time, without a look that found it running */
#define RESTS_MAX   16u /* looks at which it had not run since the one before */

/* ---- what is due ----------------------------------------------------------------------------- */

void sample_begin(struct tracer *tracer, struct tracee *tracee)
{
	struct target *target = tracee->target;

	/*
	 * What threads that ended have left, or a random part of a period, on loan: of many threads
	 * that end early as many are counted as are due, and chances do not add up.
	 */
	if (!target->ended_due_ns)
		tracee->due_ns = tracer_random(tracer, tracer->period_ns);
	else if (target->ended_due_ns > 0)
		tracee->due_ns = (uint64_t)target->ended_due_ns % tracer->period_ns;
	target->ended_due_ns -= (int64_t)tracee->due_ns;
}

/* Tell of @tracee before the first record that names it. */
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

/* Whole samples that are due for @tracee by @now_ns of its clock; the rest stays due. */
static uint32_t count_due(struct tracer *tracer, struct tracee *tracee, uint64_t now_ns)
{
	uint64_t spent_ns = now_ns > tracee->counted_ns ? now_ns - tracee->counted_ns : 0;
	uint64_t weight;

	tracee->counted_ns = now_ns;
	tracee->target->counted_ns += spent_ns;
	tracee->due_ns += spent_ns;
	weight = tracee->due_ns / tracer->period_ns;
	tracee->due_ns %= tracer->period_ns;
	return weight > UINT32_MAX ? UINT32_MAX : (uint32_t)weight;
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
		tracer->totals.dropped += record->weight;
	else if (record->frames)
		tracee->has_stack = true;
}

/* ---- was it running? ------------------------------------------------------------------------- */

/* Is @at_ns @expected_ns, as exactly as our clock knows? */
static bool is_near(uint64_t at_ns, uint64_t expected_ns)
{
	return at_ns + BEFORE_NS >= expected_ns && at_ns <= expected_ns + AFTER_NS;
}

/*
 * Who waited for exactly as long as we had the CPU was pushed off by us, and came back when we
 * went: the kernel counts both at the same two switches. When others had the CPU before it came
 * back, or it went on at once on another that was idle, our own clock must tell: who waited and ran
 * for all the time since we came has not begun to wait before. But one that sleeps now and then may
 * have been woken up just as we came, and in a call that waits it looks as if it was pushed on its
 * way out: that is too uncertain.
 *
 *	it runs | waits                                  | runs | stops
 *	        |<-- ran_ns: we -->|<-- perhaps others ->|
 *	        requested_since_ns      requested_ns               now
 */
static bool was_pushed_by_us(
	const struct tracer *tracer, const struct tracee *tracee, const void *regset)
{
	uint64_t waited_ns = tracee->used.waited_ns - tracee->at_request.waited_ns;
	uint64_t ran_ns = tracee->used.cpu_ns - tracee->at_request.cpu_ns, began_ns;

	if (waited_ns + SAME_NS >= tracer->ran_ns && waited_ns <= tracer->ran_ns + SAME_NS)
		return true;
	if (tracee->has_slept)
		return !wait_leaf_is_rest(arch_syscall_number(tracee->tid, regset)) &&
		       is_near(tracer->on_ns - waited_ns - ran_ns, tracee->requested_since_ns);
	began_ns = tracee->requested_since_ns + waited_ns + ran_ns;
	return began_ns + BEFORE_NS >= tracee->requested_ns &&
	       began_ns <= clock_now_ns() + AFTER_NS;
}

/*
 * One that was not pushed was running when it was given no CPU since the look, having one; and not
 * when it has gone to sleep before it could be stopped.
 */
static bool was_running(
	const struct tracer *tracer, const struct tracee *tracee, const void *regset)
{
	if (tracee->is_pushed)
		return was_pushed_by_us(tracer, tracee, regset);
	if (arch_in_syscall(tracee->tid, regset) && arch_regset_slept(regset))
		return false;
	return tracee->used.turns == tracee->at_request.turns ||
	       is_near(tracer->woken_ns - (tracee->used.waited_ns - tracee->at_request.waited_ns),
		       tracee->requested_since_ns);
}

/* ---- a stop and its stack -------------------------------------------------------------------- */

void sample_cancel(struct tracer *tracer, struct tracee *tracee)
{
	if (tracee->requested_ns)
		tracer->requested--;
	tracee->requested_ns = 0;
}

/* Stack of a stopped thread into tracer->frames. */
static struct unwind_result walk_stack(
	struct tracer *tracer, struct tracee *tracee, const void *regset)
{
	struct stackwalk walk = {
		.target = tracee->target, .shared = &tracer->shared, .memory = &tracer->memory};
	struct arch_registers registers;
	struct unwind_result result, other;

	arch_registers_from_regset(&registers, regset);
	memory_begin(&tracer->memory, tracee->target->pid);
	walk.runs.thread = (struct runtime_thread){
		.self = arch_thread_self(regset), .tid = (uint32_t)tracee->tid};
	walk.runs.known = tracee->runtime_state;
	result = stackwalk_run(&walk, &registers, tracer->frames);
	tracee->runtime_state = walk.runs.known;
	tracer->totals.kept_native += !walk.runs.is_whole;
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

void sample_stopped(struct tracer *tracer, struct tracee *tracee, int request, int signal)
{
	uint64_t regset[ARCH_REGSET_BYTES / 8];
	struct iovec iov = {.iov_base = regset, .iov_len = sizeof(regset)};
	bool is_known = !ptrace(PTRACE_GETREGSET, tracee->tid, (void *)NT_PRSTATUS, &iov) &&
			iov.iov_len == sizeof(regset);
	uint64_t now_ns = tracees_update(tracee);
	uint64_t begun_ns;
	bool ran = !is_known || was_running(tracer, tracee, regset);
	struct record_sample record = {.kind = WIRE_KIND_CPU, .end = WIRE_END_LOST};

	if (ran)
		record.weight = count_due(tracer, tracee, now_ns);
	/* Code that waits for a CPU, outside of any call, is good enough to go back to. */
	if (is_known &&
		(record.weight ||
			(!tracee->has_stack && (ran || !arch_in_syscall(tracee->tid, regset))))) {
		struct unwind_result result = walk_stack(tracer, tracee, regset);

		record.frames = result.frames;
		record.end = (uint8_t)result.end;
	}
	/*
	 * A call that we broke off is begun again where that is safe: EINTR becomes the kernel's
	 * own "restart unless a handler runs", for calls that have done nothing yet.
	 */
	if (is_known && arch_in_syscall(tracee->tid, regset) && arch_regset_restart(regset))
		ptrace(PTRACE_SETREGSET, tracee->tid, (void *)NT_PRSTATUS, &iov);
	ptrace(request, tracee->tid, NULL, (void *)(intptr_t)signal);
	tracer->totals.stops++;
	/* Whom we pushed off did not run in our turn before this one, either. */
	begun_ns =
		tracee->requested_ns > tracer->woken_ns ? tracee->requested_ns : tracer->woken_ns;
	tracer->totals.held_ns +=
		clock_now_ns() - begun_ns + (tracee->is_pushed && ran ? tracer->ran_ns : 0);
	sample_cancel(tracer, tracee);
	put_sample(tracer, tracee, &record);
}

/* ---- whom to stop ---------------------------------------------------------------------------- */

static void request_stop(struct tracer *tracer, struct tracee *tracee)
{
	tracer->requested++;
	tracee->requested_ns = clock_now_ns();
	tracee->at_request = tracee->used;
	tracee->requested_since_ns = tracee->is_pushed ? tracer->on_ns : tracer->woken_ns;
	if (ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL))
		sample_cancel(tracer, tracee); /* it is on its way out */
}

/*
 * Bring @tracee's count up to now. Was it on our CPU until we woke up there? At the first look
 * since it became due that is not known, and is no. It may have been woken up on another CPU than
 * it was on before, and have gone on on another when we came: one of the two has to be ours.
 */
static bool was_pushed(const struct tracer *tracer, struct tracee *tracee)
{
	long before = tracee->seen.pushes;
	int cpu = tracee->cpu;

	if (tracees_read_switches(tracee) != 'R' || before < 0 || tracee->seen.pushes <= before)
		return false;
	tracees_read_cpu(tracee);
	return cpu == tracer->affinity.cpu || tracee->cpu == tracer->affinity.cpu;
}

/* The next look may be where @tracee was last. */
static void request_cpu(struct tracer *tracer, const struct tracee *tracee)
{
	affinity_request(&tracer->affinity, tracee->cpu, (unsigned)tracer_random(tracer, 1u << 16));
}

/*
 * A thread is stopped when it makes a whole sample; that it is about to is known a little before.
 * And once earlier: threads that live for less than a period are credited with what they used at
 * their end, and that is to go on a stack of theirs. One that can't be pushed off, because we may
 * not go where it runs or never get a CPU before it sleeps, is stopped wherever it runs.
 *
 * One that sleeps is waited for on its CPU, too, for some time: were we to go there only when it
 * was seen running, of threads that work by turns we would hardly see how their turns begin.
 */
static void schedule_by_cpu(struct tracer *tracer, struct tracee *tracee)
{
	uint64_t before_ns = tracee->used.cpu_ns;
	uint64_t now_ns = tracees_update(tracee);
	uint64_t due_ns =
		tracee->due_ns + (now_ns > tracee->counted_ns ? now_ns - tracee->counted_ns : 0);
	bool is_due = due_ns >= tracer->period_ns;
	bool is_new = !is_due && !tracee->has_stack && tracee->tries < TRIES_MAX &&
		      (due_ns > tracee->due_ns || !now_ns);

	if (due_ns < tracer->period_ns / 2 && !is_new) {
		tracee->seen.pushes = -1;
		return;
	}
	if (tracee->seen.pushes >= 0 && now_ns == before_ns && !is_new) {
		if (tracee->rests++ < RESTS_MAX)
			request_cpu(tracer, tracee);
		return;
	}
	tracee->rests = 0;
	tracee->is_pushed = was_pushed(tracer, tracee) && is_due;
	if (tracee->is_pushed) {
		if (tracer->pushed++ < PUSHED_MAX)
			request_stop(tracer, tracee);
		return;
	}
	if (tracees_read_cpu(tracee) == 'R' &&
		(is_new || due_ns > PERIODS_MAX * tracer->period_ns ||
			(is_due && !affinity_allows(&tracer->affinity, tracee->cpu)))) {
		tracee->tries++;
		request_stop(tracer, tracee);
	} else {
		request_cpu(tracer, tracee);
	}
}

static void schedule_target(struct target *target)
{
	uint64_t cpu_ns = procfs_cpu_ns((uint32_t)target->pid);

	if (target->is_waiting)
		return;
	target->is_idle = cpu_ns == target->cpu_ns;
	if (cpu_ns)
		target->cpu_ns = cpu_ns;
}

static void schedule_thread(struct tracer *tracer, struct tracee *tracee)
{
	tracee->round = tracer->round;
	if (tracee->target->is_idle || tracee->target->is_waiting || tracee->requested_ns)
		return;
	schedule_by_cpu(tracer, tracee);
}

/* All threads in an order that begins anywhere; @first: only those we may have pushed off. */
static void schedule_threads(struct tracer *tracer, unsigned begin, bool first)
{
	for (unsigned i = 0; i < TRACEES_BUCKETS; i++) {
		struct tracee *tracee = tracer->tracees.bucket[(begin + i) % TRACEES_BUCKETS];

		for (; tracee; tracee = tracee->next)
			if (first ? tracee->seen.pushes >= 0 && tracee->cpu == tracer->affinity.cpu
				  : tracee->round != tracer->round)
				schedule_thread(tracer, tracee);
	}
}

void sample_round(struct tracer *tracer)
{
	unsigned begin = (unsigned)tracer_random(tracer, TRACEES_BUCKETS);

	tracer->round++;
	tracer->pushed = 0;
	affinity_begin(&tracer->affinity);
	for (struct target *target = tracer->targets; target; target = target->next)
		schedule_target(target);
	/* They wait for us. */
	schedule_threads(tracer, begin, true);
	schedule_threads(tracer, begin, false);
}

/* ---- what is left over ----------------------------------------------------------------------- */

void sample_credit_thread(struct tracer *tracer, struct tracee *tracee)
{
	struct record_sample record = {.kind = WIRE_KIND_CREDIT};
	struct target *target = tracee->target;

	if (target->is_waiting)
		return;
	record.weight = count_due(tracer, tracee, tracees_update(tracee));
	target->ended_due_ns += (int64_t)tracee->due_ns;
	if (target->ended_due_ns >= (int64_t)tracer->period_ns) {
		target->ended_due_ns -= (int64_t)tracer->period_ns;
		record.weight++;
	}
	put_sample(tracer, tracee, &record);
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
		tracer->totals.dropped += record.weight;
}
