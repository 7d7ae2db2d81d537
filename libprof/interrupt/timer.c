/* SPDX-License-Identifier: MIT */
/*
 * The timer thread. It sleeps on a futex, the bell, until an absolute time of CLOCK_MONOTONIC:
 *
 *   RUNS      raises ticks when one is due; the bell announces an earlier due time
 *     │  ▲
 *     ▼  │ bell
 *   RUNS, idle: no thread gets ticks
 *     │ after IDLE_NS
 *     ▼
 *   ENDED     the thread has left, and must be joined before the next one is made
 *
 * The timer must not be the last thread, because a process ends with its last thread. So if a
 * thread ends that was ever registered, and no thread gets ticks, it ends the timer and waits for
 * the timer's end. Otherwise an idle timer waits for a second before it leaves, because making a
 * thread is expensive.
 */
#include "libprof/interrupt/timer.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arch/syscall.h"
#include "libprof/interrupt/interrupt.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/own_threads.h"

/* ---- registered threads ---------------------------------------------------------------------- */

struct interrupt interrupt = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Initialise and lock the mutex. */
static int init_alive(pthread_mutex_t *alive)
{
	pthread_mutexattr_t attributes;
	int error = pthread_mutexattr_init(&attributes);

	if (error)
		return -error;
	error = pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	if (!error)
		error = pthread_mutex_init(alive, &attributes);
	if (!error)
		error = pthread_mutex_lock(alive);
	pthread_mutexattr_destroy(&attributes);
	return -error;
}

struct interrupt_thread *registry_thread_new(void)
{
	struct interrupt_thread *thread;

	pthread_mutex_lock(&interrupt.lock);
	thread = interrupt.spare;
	if (thread)
		interrupt.spare = thread->next;
	pthread_mutex_unlock(&interrupt.lock);
	if (!thread)
		thread = malloc(sizeof(*thread));
	if (!thread)
		return NULL;
	memset(thread, 0, sizeof(*thread));
	if (init_alive(&thread->alive)) {
		free(thread);
		return NULL;
	}
	return thread;
}

void registry_thread_free(struct interrupt_thread *thread)
{
	pthread_mutex_unlock(&thread->alive);
	pthread_mutex_destroy(&thread->alive);
	free(thread);
}

void registry_add(struct interrupt_thread *thread)
{
	thread->next = interrupt.threads;
	interrupt.threads = thread;
}

void registry_remove(struct interrupt_thread *thread)
{
	struct interrupt_thread **link = &interrupt.threads;

	while (*link && *link != thread)
		link = &(*link)->next;
	if (*link)
		*link = thread->next;
}

void registry_skip(struct interrupt_thread *thread, uint64_t now_ns)
{
	if (now_ns >= thread->due_ns)
		thread->due_ns += ((now_ns - thread->due_ns) / thread->period_ns + 1) *
			thread->period_ns;
}

void registry_begin(
	struct interrupt_thread *thread, uint64_t begin_ns, uint64_t period_ns, uint64_t now_ns)
{
	thread->period_ns = period_ns;
	thread->due_ns = begin_ns + period_ns;
	registry_skip(thread, now_ns);
}

void registry_begin_all(uint64_t now_ns)
{
	for (struct interrupt_thread *at = interrupt.threads; at; at = at->next)
		if (!at->function)
			registry_begin(at, interrupt.begin_ns, interrupt.period_ns, now_ns);
}

/* Returns 1 if any thread gets ticks. */
static int registry_is_ticking(void)
{
	const struct interrupt_thread *at = interrupt.threads;

	while (at && !at->period_ns)
		at = at->next;
	return at != NULL;
}

uint64_t registry_due_ns(void)
{
	uint64_t due_ns = UINT64_MAX;

	for (const struct interrupt_thread *at = interrupt.threads; at; at = at->next)
		if (at->period_ns && at->due_ns < due_ns)
			due_ns = at->due_ns;
	return due_ns;
}

/*
 * Returns 1 if the thread has ended. Accepted race: between this check and the write to the
 * thread's memory, the thread may still end by a system call, and another thread may unmap its
 * stack.
 */
static int has_ended(struct interrupt_thread *thread)
{
	return pthread_mutex_trylock(&thread->alive) != EBUSY;
}

/*
 * Make the robust mutex of a dead thread usable, so that it can be destroyed. has_ended() has
 * locked it.
 */
static void free_ended(struct interrupt_thread *thread)
{
	pthread_mutex_consistent(&thread->alive);
	registry_thread_free(thread);
}

void registry_raise(struct interrupt_thread *thread, uint32_t ticks)
{
	/*
	 * The sum cannot overflow: only this function raises the counter, and the thread only
	 * lowers it.
	 */
	uint32_t room = UINT32_MAX - __atomic_load_n(thread->ticks, __ATOMIC_RELAXED);

	__atomic_fetch_add(thread->ticks, ticks < room ? ticks : room, __ATOMIC_RELAXED);
	/*
	 * Raise the counter before the flag, so that a thread that sees the flag finds the ticks.
	 */
	if (thread->flag)
		__atomic_store_n(thread->flag, 1, __ATOMIC_SEQ_CST);
	if (thread->tick)
		thread->tick(thread->tick_context);
}

static void raise_due(struct interrupt_thread *thread, uint64_t now_ns)
{
	uint64_t due_ns = thread->due_ns, ticks;

	if (now_ns < due_ns)
		return;
	registry_skip(thread, now_ns);
	ticks = (thread->due_ns - due_ns) / thread->period_ns;
	registry_raise(thread, ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX);
}

/* If the thread at *@link has ended, remove and free it. Returns 1 if so. */
static int remove_ended(struct interrupt_thread **link)
{
	struct interrupt_thread *thread = *link;

	if (!has_ended(thread))
		return 0;
	*link = thread->next;
	free_ended(thread);
	return 1;
}

/*
 * Raise each thread's counter by the periods that have ended by @now_ns, at most to UINT32_MAX,
 * then set its flag. Remove threads that have ended without unregistering.
 * Returns the next due time, as registry_due_ns() does.
 */
static uint64_t registry_tick(uint64_t now_ns)
{
	struct interrupt_thread **link = &interrupt.threads;
	uint64_t due_ns = UINT64_MAX;

	while (*link) {
		struct interrupt_thread *thread = *link;

		if (remove_ended(link))
			continue;
		link = &thread->next;
		if (!thread->period_ns)
			continue;
		raise_due(thread, now_ns);
		if (thread->due_ns < due_ns)
			due_ns = thread->due_ns;
	}
	return due_ns;
}

void registry_end_all(void)
{
	struct interrupt_thread **link = &interrupt.threads;

	while (*link) {
		struct interrupt_thread *thread = *link;

		if (remove_ended(link))
			continue;
		link = &thread->next;
		if (thread->function)
			continue;
		thread->period_ns = 0;
		/* Discard undelivered ticks, because the host no longer knows their period. */
		__atomic_store_n(thread->ticks, 0, __ATOMIC_SEQ_CST);
	}
}

void registry_reset_in_child(struct interrupt_thread *thread)
{
	struct interrupt_thread *next;

	for (struct interrupt_thread *at = interrupt.threads; at; at = next) {
		next = at->next;
		if (at == thread)
			continue;
		at->next = interrupt.spare;
		interrupt.spare = at;
	}
	interrupt.threads = thread;
	if (!thread)
		return;
	thread->next = NULL;
	/* The mutex belongs to the parent's thread, so initialise it again. */
	memset(&thread->alive, 0, sizeof(thread->alive));
	init_alive(&thread->alive);
}

/* ---- the timer ------------------------------------------------------------------------------- */

/*
 * The timer thread ends after it was idle for this long. It waits, because making a thread costs as
 * much as some hundred wake-ups.
 */
#define IDLE_NS CLOCK_NS_PER_S

enum timer_state {
	NONE = 0,
	RUNS = 1,
	ENDED = 2,
};

/* All fields except `bell` are protected by interrupt.lock. */
static struct {
	enum timer_state state;
	pthread_t id; /* valid in RUNS and ENDED */
	/*
	 * Number of the current timer thread. A timer thread that has another number ends itself.
	 */
	uint32_t generation;
	/* Time of the next tick; UINT64_MAX: idle; 0: the thread has not run yet. */
	uint64_t wakes_ns;
	uint32_t bell; /* atomic, futex */
} timer;

static void wake_timer(void)
{
	__atomic_fetch_add(&timer.bell, 1, __ATOMIC_RELEASE);
	arch_syscall3(SYS_futex, &timer.bell, FUTEX_WAKE_PRIVATE, 1);
}

/*
 * Sleep until @deadline_ns or until `bell` differs from @bell; may wake early. Returns 0, or -errno
 * if sleeping fails.
 */
static int sleep_until(uint64_t deadline_ns, uint32_t bell)
{
	struct timespec until = {(time_t)(deadline_ns / CLOCK_NS_PER_S),
		(long)(deadline_ns % CLOCK_NS_PER_S)};
	long error = arch_syscall6(SYS_futex, (long)&timer.bell,
		FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, (long)bell, (long)&until, 0,
		(long)FUTEX_BITSET_MATCH_ANY);

	return error == -ETIMEDOUT || error == -EAGAIN || error == -EINTR ? 0 : (int)error;
}

/*
 * Raise ticks that are due and set *@deadline_ns to the next wake-up. Returns 1, or 0 if the thread
 * must end. Context: interrupt.lock is held.
 */
static int run_due(uint32_t generation, uint64_t *idle_end_ns, uint64_t *deadline_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (generation != timer.generation)
		return 0;
	timer.wakes_ns = registry_tick(now_ns);
	if (timer.wakes_ns != UINT64_MAX) {
		*idle_end_ns = 0;
		*deadline_ns = timer.wakes_ns;
		return 1;
	}
	if (*idle_end_ns && now_ns >= *idle_end_ns) {
		timer.state = ENDED;
		return 0;
	}
	if (!*idle_end_ns)
		*idle_end_ns = now_ns + IDLE_NS;
	*deadline_ns = *idle_end_ns;
	return 1;
}

static void *timer_main(void *argument)
{
	uint32_t generation = (uint32_t)(uintptr_t)argument;
	uint64_t idle_end_ns = 0, deadline_ns = 0;
	uint32_t bell;
	int is_running;

	do {
		pthread_mutex_lock(&interrupt.lock);
		is_running = run_due(generation, &idle_end_ns, &deadline_ns);
		bell = __atomic_load_n(&timer.bell, __ATOMIC_ACQUIRE);
		pthread_mutex_unlock(&interrupt.lock);
	} while (is_running && !sleep_until(deadline_ns, bell));
	return NULL;
}

/*
 * Wait for the timer thread's end. Hold interrupt.lock only if the timer thread will not take it
 * any more, because otherwise both wait for ever.
 */
static void join_timer(pthread_t id)
{
	int before;

	/*
	 * Disable cancellation, because pthread_join() is a cancellation point and the caller may
	 * hold the lock.
	 */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	libc_calls.pthread_join(id, NULL);
	pthread_setcancelstate(before, NULL);
}

int timer_start(uint64_t due_ns)
{
	int error;

	if (due_ns == UINT64_MAX)
		return 0;
	if (timer.state == RUNS) {
		if (due_ns < timer.wakes_ns)
			wake_timer();
		return 0;
	}
	if (timer.state == ENDED)
		join_timer(timer.id);
	timer.state = NONE;
	timer.wakes_ns = 0;
	error = own_threads_begin(
		&timer.id, NULL, timer_main, (void *)(uintptr_t)timer.generation);
	if (!error)
		timer.state = RUNS;
	return error;
}

void timer_end_unneeded(void)
{
	pthread_t id;

	pthread_mutex_lock(&interrupt.lock);
	if (registry_is_ticking() || timer.state == NONE) {
		pthread_mutex_unlock(&interrupt.lock);
		return;
	}
	id = timer.id;
	timer.state = NONE;
	timer.generation++;
	wake_timer();
	pthread_mutex_unlock(&interrupt.lock);
	join_timer(id);
}

void timer_reset_in_child(void)
{
	timer.state = NONE;
	timer.generation++;
}
