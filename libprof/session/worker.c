/* SPDX-License-Identifier: MIT */
/*
 * The worker: a thread of the profiler that drains the rings into the profile, as flamerun's
 * collector does for its programs. Handlers wake the worker, like the collector, by the arena's
 * doorbell.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <time.h>

#include "arch/syscall.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/own_signal.h"
#include "libprof/sampler/sampler.h"
#include "libprof/sampler/tasks.h"
#include "libprof/session/own_waits.h"
#include "libprof/session/session.h"
#include "libprof/vmstack/function.h"

#define TICK_MS 100
/*
 * Interval of searches for new threads, used if new threads are not reported. The CPU time of a
 * thread before it is found is lost, so the interval is short.
 */
#define SCAN_MS	  10
#define NS_PER_MS 1000000ULL

/* Read the control ring. Repeat while names are waiting that did not fit into the full ring. */
static void read_control(void)
{
	do
		store_read_control(
			session.catalogue, sampler.arena, sampler.slot_index, session.profile);
	while (function_announce_waiting());
	__atomic_fetch_add(&sampler.dropped_marks,
		store_catalogue_read_lost_marks(session.catalogue), __ATOMIC_RELAXED);
}

/* Move the samples up to @until_ns from the rings into the profile. */
static void drain_rings(uint64_t until_ns)
{
	struct store_result result = {0};

	store_drain(session.profile, &session.queue.drain, session.queue.image, until_ns, &result);
	diagnostics_add(&result);
}

/*
 * Complete a flush: pass the current profile to the waiting thread, and continue with the empty
 * profile in its barrier.
 */
static void complete_flush(struct barrier *barrier)
{
	struct flameprof_profile *ended = session.profile;

	/* Read the user's marks up to now and the names of modules that are new in this profile. */
	own_waits_report();
	read_control();
	if (store_resolve(ended, session.catalogue) == -ENOMEM) {
		queue_complete(barrier, -ENOMEM, NULL);
		return;
	}
	store_end(ended, barrier->boundary_ns);
	session.profile = barrier->next;
	store_begin(session.profile, barrier->boundary_ns, (int64_t)time(NULL));
	queue_complete(barrier, 0, ended);
}

/*
 * Drain up to the boundary of the oldest flush, complete the flush unless its caller has given up,
 * and return 1. If there is no flush, drain everything and return 0.
 */
static int drain_to_boundary(void)
{
	uint64_t until_ns = queue_boundary(&session.queue);
	struct barrier *barrier;

	drain_rings(until_ns);
	if (until_ns == UINT64_MAX)
		return 0;
	barrier = queue_pop(&session.queue, until_ns);
	if (barrier)
		complete_flush(barrier);
	return 1;
}

/* Do checks that need not be done at every turn. */
static void check_session(uint64_t now_ns)
{
	tasks_rescan();
	stack_publish_seen();
	if (session.config.clock != FLAMEPROF_CLOCK_VM && own_signal_is_displaced())
		session_end_by_itself(FLAMEPROF_SIGNAL_LOST);
	if (session.end_ns && now_ns >= session.end_ns)
		session_end_by_itself(FLAMEPROF_TIMEOUT);
}

/* Find new threads, then the bounds of stacks whose stack pointers handlers have stored. */
static void find_new_threads(void)
{
	tasks_scan();
	stack_publish_seen();
}

/* Do one turn of the worker's loop. @bell is the doorbell's value before the turn. */
static void run_once(uint32_t bell, int is_last)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (is_last) {
		/*
		 * Cancel waiting flushes: their samples will be in the profile of flameprof_stop().
		 */
		queue_stop(&session.queue);
		own_waits_end();
		session_quiesce();
	} else if (now_ns >= session.tick_ns) {
		check_session(now_ns);
		session.tick_ns = now_ns + TICK_MS * NS_PER_MS;
	} else {
		if (!session.sees_births)
			find_new_threads();
		/* If the doorbell was not rung, the worker woke only for the search. */
		if (bell == session.bell)
			return;
	}
	session.bell = bell;
	read_control();
	while (drain_to_boundary())
		;
}

/*
 * Wait until the doorbell is not @bell, a tick has passed, or an observation of waiting threads is
 * due at @check_ns.
 */
static void wait_for_work(const uint32_t *doorbell, uint32_t bell, uint64_t check_ns)
{
	uint64_t wait_ns = (session.sees_births ? TICK_MS : SCAN_MS) * NS_PER_MS;
	uint64_t now_ns = clock_monotonic_ns();
	struct timespec wait;

	if (check_ns < now_ns + wait_ns)
		wait_ns = check_ns > now_ns ? check_ns - now_ns : 0;
	wait = (struct timespec){.tv_nsec = (long)wait_ns};
	arch_syscall4(SYS_futex, doorbell, FUTEX_WAIT, bell, &wait);
}

/*
 * Drain the rings and observe waiting threads until `ending` is set, then drain the rings once
 * more.
 */
static void run_worker(void)
{
	uint32_t *doorbell = &((struct wire_arena *)sampler.arena)->doorbell;
	uint64_t check_ns = 0;
	int is_last;

	do {
		uint32_t bell = __atomic_load_n(doorbell, __ATOMIC_ACQUIRE);

		/*
		 * Read `ending` before the last turn, so that this turn finds all samples that were
		 * written before `ending` was set.
		 */
		is_last = (int)__atomic_load_n(&session.ending, __ATOMIC_ACQUIRE);
		if (!is_last)
			check_ns = own_waits_round();
		run_once(bell, is_last);
		if (!is_last)
			wait_for_work(doorbell, bell, check_ns);
	} while (!is_last);
}

void *worker_main(void *argument)
{
	__atomic_store_n(&session.worker_tid, (int32_t)arch_syscall0(SYS_gettid), __ATOMIC_RELEASE);
	own_waits_begin();
	run_worker();
	read_control();
	store_end(session.profile, clock_monotonic_ns());
	diagnostics_worker_ends();
	__atomic_store_n(&session.done, 1, __ATOMIC_RELEASE);
	session_wake(&session.done);
	return argument;
}
