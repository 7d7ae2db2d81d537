/* SPDX-License-Identifier: MIT */
/*
 * The worker: one thread of the profiler's own that empties the rings into the profile, as
 * flamerun's collector does for the programs it runs; the handlers ring the same bell.
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

#define TICK_MS	  100
/* Where nobody tells of new threads: what one uses until it is found is lost. */
#define SCAN_MS	  10
#define NS_PER_MS 1000000ULL

/* Names that found the ring full come as soon as it is empty. */
static void read_control(void)
{
	do
		store_read_control(
			session.catalogue, sampler.arena, sampler.slot_index, session.profile);
	while (function_announce_waiting());
	__atomic_fetch_add(&sampler.dropped_marks,
		store_catalogue_read_lost_marks(session.catalogue), __ATOMIC_RELAXED);
}

static void add_batch(struct queue_item *item)
{
	struct store_result result = {0};

	store_add_batch(session.profile, item->batch, &result);
	diagnostics_add(&result);
	queue_free_batch(&session.queue, item);
}

/* A flush: the profile goes to it, the empty one it brought takes its place. */
static void complete_flush(struct queue_item *item)
{
	struct flameprof_profile *ended = session.profile;
	struct barrier *barrier = item->barrier;

	/* Marks up to now, and the names of modules that were met for the first time. */
	own_waits_tell();
	read_control();
	if (store_resolve(ended, session.catalogue) == -ENOMEM) {
		queue_complete(item, -ENOMEM, NULL);
		return;
	}
	store_end(ended, barrier->boundary_ns);
	session.profile = barrier->next;
	store_begin(session.profile, barrier->boundary_ns, (int64_t)time(NULL));
	queue_complete(item, 0, ended);
}

static void process_queue(void)
{
	struct queue_item *item;

	while ((item = queue_pop(&session.queue))) {
		if (item->kind == QUEUE_BATCH)
			add_batch(item);
		else
			complete_flush(item);
	}
}

/* What is worth a look now and then. */
static void check_session(uint64_t now_ns)
{
	tasks_rescan();
	stack_publish_seen();
	if (session.config.clock != FLAMEPROF_CLOCK_VM && own_signal_is_displaced())
		session_end_by_itself(FLAMEPROF_SIGNAL_LOST);
	if (session.end_ns && now_ns >= session.end_ns)
		session_end_by_itself(FLAMEPROF_TIMEOUT);
}

/* The thread itself first; where its stack is when its handler has asked. */
static void find_new_threads(void)
{
	tasks_scan();
	stack_publish_seen();
}

/* @bell: what the doorbell was before. */
static void run_once(uint32_t bell, int is_last)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (is_last) {
		/* Flushes have nothing to wait for: what they would get is the stop's. */
		queue_stop(&session.queue);
		own_waits_end();
		session_quiesce();
	} else if (now_ns >= session.tick_ns) {
		check_session(now_ns);
		session.tick_ns = now_ns + TICK_MS * NS_PER_MS;
	} else {
		if (!session.sees_births)
			find_new_threads();
		/* Woken for that alone: emptying rings this often makes many small batches. */
		if (bell == session.bell)
			return;
	}
	session.bell = bell;
	read_control();
	queue_drain(&session.queue, UINT64_MAX);
	process_queue();
}

/* Until the doorbell, which was @bell, rings, a tick is over, or a look is due at @look_ns. */
static void wait_for_work(const uint32_t *doorbell, uint32_t bell, uint64_t look_ns)
{
	uint64_t wait_ns = (session.sees_births ? TICK_MS : SCAN_MS) * NS_PER_MS;
	uint64_t now_ns = clock_monotonic_ns();
	struct timespec wait;

	if (look_ns < now_ns + wait_ns)
		wait_ns = look_ns > now_ns ? look_ns - now_ns : 0;
	wait = (struct timespec){.tv_nsec = (long)wait_ns};
	arch_syscall4(SYS_futex, doorbell, FUTEX_WAIT, bell, &wait);
}

/* Empty the rings, sleep, look at those who sleep, too; once more after the end. */
static void run_worker(void)
{
	uint32_t *doorbell = &((struct wire_arena *)sampler.arena)->doorbell;
	uint64_t look_ns = 0;
	int is_last;

	do {
		uint32_t bell = __atomic_load_n(doorbell, __ATOMIC_ACQUIRE);

		/* Before the turn: what came before the end is then seen. */
		is_last = (int)__atomic_load_n(&session.ending, __ATOMIC_ACQUIRE);
		if (!is_last)
			look_ns = own_waits_round();
		run_once(bell, is_last);
		if (!is_last)
			wait_for_work(doorbell, bell, look_ns);
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
