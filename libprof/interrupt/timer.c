/* SPDX-License-Identifier: MIT */
/*
 * The timer's thread. It sleeps on a futex, the bell, until an absolute time of CLOCK_MONOTONIC:
 *
 *   RUNS      ticks whenever the next is due for anybody; the bell: one is due before that
 *     │  ▲
 *     ▼  │ bell
 *   RUNS, resting: nobody gets ticks
 *     │ after REST_NS
 *     ▼
 *   ENDED     the thread has left, to be joined by whoever needs the next one
 *
 * The timer is never the last thread. A process ends with its last thread, so whoever ends having
 * ever registered, and finds nobody registered, ends the timer and waits for it. Otherwise it rests
 * on the futex for a second, since making a thread is dear, and then leaves.
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
/*
 * Registered threads, and what a tick does to each.
 */

struct interrupt interrupt = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Locks it. */
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

/* Does anybody get ticks? */
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
 * Between this and writing to its memory a thread can still end, by a system call and with somebody
 * who waits for it and unmaps its stack: that much is left to chance, a few instructions.
 */
static int has_ended(struct interrupt_thread *thread)
{
	return pthread_mutex_trylock(&thread->alive) != EBUSY;
}

/* The lock, left by its owner, is ours. */
static void free_ended(struct interrupt_thread *thread)
{
	pthread_mutex_consistent(&thread->alive);
	registry_thread_free(thread);
}

void registry_raise(struct interrupt_thread *thread, uint32_t ticks)
{
	/* Nobody else raises it, and to take it makes it less: this can't go past the end. */
	uint32_t room = UINT32_MAX - __atomic_load_n(thread->ticks, __ATOMIC_RELAXED);

	__atomic_fetch_add(thread->ticks, ticks < room ? ticks : room, __ATOMIC_RELAXED);
	/* Who sees the flag finds the counter. */
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

/* Off the list when it has ended. Returns whether it has. */
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
 * Give each thread the periods that it has not had by @now_ns: its counter is raised, up to
 * UINT32_MAX, then its flag. Threads that have ended unseen come off the list.
 * Returns as registry_due_ns().
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
		/* What waits was counted in periods that nobody knows any more. */
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
	/* The parent's thread holds it, and this one has forgotten that it did. */
	memset(&thread->alive, 0, sizeof(thread->alive));
	init_alive(&thread->alive);
}

/* ---- the timer ------------------------------------------------------------------------------- */

/* Making a thread costs as much as some hundred rests. */
#define REST_NS CLOCK_NS_PER_S

enum timer_state {
	NONE = 0,
	RUNS = 1,
	ENDED = 2,
};

/* All under interrupt.lock, but for the bell. */
static struct {
	enum timer_state state;
	pthread_t id; /* in RUNS and ENDED */
	uint32_t generation; /* a thread of another one leaves at once */
	uint64_t wakes_ns;   /* for ticks; UINT64_MAX: it rests. 0: it is not there yet */
	uint32_t bell; /* atomic, futex */
} timer;

static void wake_timer(void)
{
	__atomic_fetch_add(&timer.bell, 1, __ATOMIC_RELEASE);
	arch_syscall3(SYS_futex, &timer.bell, FUTEX_WAKE_PRIVATE, 1);
}

/* Until then, the bell, or a wake-up for nothing. Returns 0, or -errno where none can be had. */
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
 * What is due, and until when there is nothing to do.
 * Returns 1, or 0 when the thread is to leave. Context: interrupt.lock is held.
 */
static int run_due(uint32_t generation, uint64_t *rest_end_ns, uint64_t *deadline_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (generation != timer.generation)
		return 0;
	timer.wakes_ns = registry_tick(now_ns);
	if (timer.wakes_ns != UINT64_MAX) {
		*rest_end_ns = 0;
		*deadline_ns = timer.wakes_ns;
		return 1;
	}
	if (*rest_end_ns && now_ns >= *rest_end_ns) {
		timer.state = ENDED;
		return 0;
	}
	if (!*rest_end_ns)
		*rest_end_ns = now_ns + REST_NS;
	*deadline_ns = *rest_end_ns;
	return 1;
}

static void *timer_main(void *argument)
{
	uint32_t generation = (uint32_t)(uintptr_t)argument;
	uint64_t rest_end_ns = 0, deadline_ns = 0;
	uint32_t bell;
	int goes_on;

	do {
		pthread_mutex_lock(&interrupt.lock);
		goes_on = run_due(generation, &rest_end_ns, &deadline_ns);
		bell = __atomic_load_n(&timer.bell, __ATOMIC_ACQUIRE);
		pthread_mutex_unlock(&interrupt.lock);
	} while (goes_on && !sleep_until(deadline_ns, bell));
	return NULL;
}

/* It has left the lock, or is about to leave altogether. */
static void join_timer(pthread_t id)
{
	int before;

	/* Joining can be where a thread is cancelled, and this one may hold the lock. */
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
