/* SPDX-License-Identifier: MIT */
/*
 * Registered threads, and what a tick does to each.
 */
#include "libprof/interrupt/registry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

int registry_is_ticking(void)
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
static void bury(struct interrupt_thread *thread)
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
static int bury_ended(struct interrupt_thread **link)
{
	struct interrupt_thread *thread = *link;

	if (!has_ended(thread))
		return 0;
	*link = thread->next;
	bury(thread);
	return 1;
}

uint64_t registry_tick(uint64_t now_ns)
{
	struct interrupt_thread **link = &interrupt.threads;
	uint64_t due_ns = UINT64_MAX;

	while (*link) {
		struct interrupt_thread *thread = *link;

		if (bury_ended(link))
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

		if (bury_ended(link))
			continue;
		link = &thread->next;
		if (thread->function)
			continue;
		thread->period_ns = 0;
		/* What waits was counted in periods that nobody knows any more. */
		__atomic_store_n(thread->ticks, 0, __ATOMIC_SEQ_CST);
	}
}

void registry_keep_in_child(struct interrupt_thread *thread)
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
