/* SPDX-License-Identifier: MIT */
/*
 * Rounds of looks.
 */
#include "cli/outside/look.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "arch/ptrace.h"
#include "cli/clock.h"
#include "cli/gather/procfs.h"
#include "cli/outside/sample.h"
#include "cli/outside/strangers.h"

#define SAME_NS	    500ULL  /* on the scheduler's clock */
#define BEFORE_NS   8000ULL /* how well moments are known on ours: measured */
#define AFTER_NS    4000ULL
#define PUSHED_MAX  4u /* asked in one round: one of them was on the CPU when we came */
#define TRIES_MAX   3u /* to get a first stack of a thread that is not due */
#define PERIODS_MAX 8u /* of CPU time, without a look that found it running */
#define RESTS_MAX   16u /* looks at which it had not run since the one before */

static void ask(struct tracer *tracer, struct tracee *tracee)
{
	tracer->asked++;
	tracee->asked_ns = clock_now_ns();
	tracee->asked = tracee->used;
	tracee->asked_since_ns = tracee->is_pushed ? tracer->on_ns : tracer->woken_ns;
	if (ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL))
		look_unask(tracer, tracee); /* it is on its way out */
}

void look_unask(struct tracer *tracer, struct tracee *tracee)
{
	if (tracee->asked_ns)
		tracer->asked--;
	tracee->asked_ns = 0;
}

/* Calls in which threads wait for something to do. */
static bool is_wait(int number)
{
	static const int waits[] = {
		SYS_futex,
		SYS_epoll_pwait,
		SYS_ppoll,
		SYS_pselect6,
		SYS_nanosleep,
		SYS_clock_nanosleep,
		SYS_rt_sigtimedwait,
		SYS_rt_sigsuspend,
		SYS_wait4,
		SYS_waitid,
		SYS_accept,
		SYS_accept4,
		SYS_semtimedop,
		SYS_msgrcv,
		SYS_io_getevents,
#ifdef SYS_epoll_wait /* what younger CPUs leave to the calls above */
		SYS_epoll_wait,
		SYS_poll,
		SYS_select,
		SYS_pause,
#endif
	};

	for (unsigned i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		if (waits[i] == number)
			return true;
	return false;
}

/* Is @at_ns @expected_ns, as exactly as our clock knows? */
static bool is_at(uint64_t at_ns, uint64_t expected_ns)
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
 *	        asked_since_ns          asked_ns                   now
 */
static bool was_pushed_by_us(
	const struct tracer *tracer, const struct tracee *tracee, const void *regset)
{
	uint64_t waited_ns = tracee->used.waited_ns - tracee->asked.waited_ns;
	uint64_t ran_ns = tracee->used.cpu_ns - tracee->asked.cpu_ns, began_ns;

	if (waited_ns + SAME_NS >= tracer->ran_ns && waited_ns <= tracer->ran_ns + SAME_NS)
		return true;
	if (tracee->has_slept)
		return !is_wait(arch_syscall_number(tracee->tid, regset)) &&
		       is_at(tracer->on_ns - waited_ns - ran_ns, tracee->asked_since_ns);
	began_ns = tracee->asked_since_ns + waited_ns + ran_ns;
	return began_ns + BEFORE_NS >= tracee->asked_ns && began_ns <= clock_now_ns() + AFTER_NS;
}

/*
 * One that was not pushed was running when it was given no CPU since the look, having one; and not
 * when it has gone to sleep before it could be stopped.
 */
bool look_was_running(const struct tracer *tracer, const struct tracee *tracee, const void *regset)
{
	if (tracee->is_pushed)
		return was_pushed_by_us(tracer, tracee, regset);
	if (arch_in_syscall(tracee->tid, regset) && arch_regset_slept(regset))
		return false;
	return tracee->used.turns == tracee->asked.turns ||
	       is_at(tracer->woken_ns - (tracee->used.waited_ns - tracee->asked.waited_ns),
		       tracee->asked_since_ns);
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

	if (tracees_count(tracee) != 'R' || before < 0 || tracee->seen.pushes <= before)
		return false;
	tracees_locate(tracee);
	return cpu == tracer->place.cpu || tracee->cpu == tracer->place.cpu;
}

/* The next look may be where @tracee was last. */
static void want(struct tracer *tracer, const struct tracee *tracee)
{
	place_want(&tracer->place, tracee->cpu, (unsigned)tracer_random(tracer, 1u << 16));
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
static void look_by_cpu(struct tracer *tracer, struct tracee *tracee)
{
	uint64_t before_ns = tracee->used.cpu_ns;
	uint64_t now_ns = sample_clock(tracer, tracee);
	uint64_t owed_ns =
		tracee->owed_ns + (now_ns > tracee->counted_ns ? now_ns - tracee->counted_ns : 0);
	bool is_due = owed_ns >= tracer->period_ns;
	bool is_new = !is_due && !tracee->has_stack && tracee->tries < TRIES_MAX &&
		      (owed_ns > tracee->owed_ns || !now_ns);

	if (owed_ns < tracer->period_ns / 2 && !is_new) {
		tracee->seen.pushes = -1;
		return;
	}
	if (tracee->seen.pushes >= 0 && now_ns == before_ns && !is_new) {
		if (tracee->rests++ < RESTS_MAX)
			want(tracer, tracee);
		return;
	}
	tracee->rests = 0;
	tracee->is_pushed = was_pushed(tracer, tracee) && is_due;
	if (tracee->is_pushed) {
		if (tracer->pushed++ < PUSHED_MAX)
			ask(tracer, tracee);
		return;
	}
	if (tracees_locate(tracee) == 'R' &&
		(is_new || owed_ns > PERIODS_MAX * tracer->period_ns ||
			(is_due && !place_reaches(&tracer->place, tracee->cpu)))) {
		tracee->tries++;
		ask(tracer, tracee);
	} else {
		want(tracer, tracee);
	}
}

/*
 * Is the stack that was taken last still the thread's? After the stop it went to sleep once more, in
 * the same place if it did not do anything else: then the number of its sleeps tells.
 */
static bool is_where_it_was(struct tracee *tracee)
{
	long switches = procfs_number(tracee->tid, "voluntary_ctxt_switches");
	struct procfs_place place;

	if (!tracee->has_stack || tracee->switches < 0 || switches < 0)
		return false;
	if (tracee->is_settled)
		return switches == tracee->switches;
	if (switches > tracee->switches + 1 ||
		procfs_place(tracee->target->pid, tracee->tid, &place) ||
		place.sp != tracee->place.sp || place.pc != tracee->place.pc ||
		procfs_number(tracee->tid, "voluntary_ctxt_switches") != switches)
		return false;
	tracee->switches = switches;
	tracee->is_settled = true;
	return true;
}

/* With --wall: a thread that has not run since its stack was taken still has it. */
static void look_by_wall(struct tracer *tracer, struct tracee *tracee)
{
	if (tracee->owed_ns + (clock_now_ns() - tracee->counted_ns) < tracer->period_ns)
		return;
	if (is_where_it_was(tracee) && tracees_locate(tracee) != 'R')
		sample_again(tracer, tracee);
	else
		ask(tracer, tracee);
}

static void look_at_target(struct tracer *tracer, struct target *target)
{
	uint64_t cpu_ns = procfs_cpu_ns((uint32_t)target->pid);

	if (target->is_waiting || strangers_have_library(tracer, target))
		return;
	target->is_idle = !tracer->config.wall && cpu_ns == target->cpu_ns;
	if (cpu_ns)
		target->cpu_ns = cpu_ns;
}

static void look_at_thread(struct tracer *tracer, struct tracee *tracee)
{
	tracee->round = tracer->round;
	if (tracee->target->is_idle || tracee->target->is_waiting || tracee->asked_ns)
		return;
	if (tracer->config.wall)
		look_by_wall(tracer, tracee);
	else
		look_by_cpu(tracer, tracee);
}

/* All threads in an order that begins anywhere; @first: only those we may have pushed off. */
static void look_at_threads(struct tracer *tracer, unsigned begin, bool first)
{
	for (unsigned i = 0; i < TRACEES_BUCKETS; i++) {
		struct tracee *tracee = tracer->tracees.bucket[(begin + i) % TRACEES_BUCKETS];

		for (; tracee; tracee = tracee->next)
			if (first ? tracee->seen.pushes >= 0 && tracee->cpu == tracer->place.cpu
				  : tracee->round != tracer->round)
				look_at_thread(tracer, tracee);
	}
}

void look_round(struct tracer *tracer)
{
	unsigned begin = (unsigned)tracer_random(tracer, TRACEES_BUCKETS);

	tracer->round++;
	tracer->pushed = 0;
	place_begin(&tracer->place);
	for (struct target *target = tracer->targets; target; target = target->next)
		look_at_target(tracer, target);
	/* They wait for us. */
	look_at_threads(tracer, begin, true);
	look_at_threads(tracer, begin, false);
}
