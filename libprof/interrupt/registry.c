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

uint64_t registry_periods(uint64_t now_ns)
{
	return now_ns > interrupt.begin_ns ? (now_ns - interrupt.begin_ns) / interrupt.period_ns
					   : 0;
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
		thread->tick(thread->context);
}

void registry_tick(uint64_t now_ns)
{
	uint64_t periods = registry_periods(now_ns);
	struct interrupt_thread **link = &interrupt.threads;

	while (*link) {
		struct interrupt_thread *thread = *link;
		uint64_t ticks = periods - thread->periods;

		if (has_ended(thread)) {
			*link = thread->next;
			bury(thread);
			continue;
		}
		thread->periods = periods;
		if (ticks)
			registry_raise(thread, ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX);
		link = &thread->next;
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
