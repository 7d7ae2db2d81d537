/* SPDX-License-Identifier: MIT */
/* Add, cancel, pop and complete barriers. */
#include "libprof/aggregator/queue.h"

#include <errno.h>
#include <linux/futex.h>
#include <time.h>

#include "arch/syscall.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/sampler.h"

#define NS_PER_MS 1000000ULL

int queue_init(struct queue *queue, void *arena, uint32_t blocks, uint64_t image)
{
	*queue = (struct queue){
		.image = image,
		.drain = {.arena = arena, .blocks = blocks},
	};
	return -pthread_mutex_init(&queue->lock, NULL);
}

static void set_state(struct barrier *barrier, enum barrier_state state)
{
	__atomic_store_n(&barrier->state, state, __ATOMIC_RELEASE);
}

/*
 * Set the barrier's final state and wake its owner. After the state is set, use the barrier only as
 * an address for the futex call, because the owner may have freed it.
 */
static void complete_barrier(struct barrier *barrier, enum barrier_state state)
{
	set_state(barrier, state);
	arch_syscall3(SYS_futex, &barrier->state, FUTEX_WAKE_PRIVATE, INT32_MAX);
}

/* Remove @barrier, which must be in the queue. Context: the queue's lock is held. */
static void unlink_barrier(struct queue *queue, const struct barrier *barrier)
{
	struct barrier *before = NULL;

	if (queue->first == barrier) {
		queue->first = barrier->behind;
	} else {
		for (before = queue->first; before->behind != barrier;)
			before = before->behind;
		before->behind = barrier->behind;
	}
	if (queue->last == barrier)
		queue->last = before;
}

void queue_release(struct queue *queue)
{
	queue_stop(queue);
	pthread_mutex_destroy(&queue->lock);
}

int queue_add_barrier(struct queue *queue, struct barrier *barrier)
{
	pthread_mutex_lock(&queue->lock);
	if (queue->stopped) {
		pthread_mutex_unlock(&queue->lock);
		return -ECANCELED;
	}
	barrier->queue = queue;
	barrier->behind = NULL;
	/* Read the time under the lock, so that later barriers have later boundaries. */
	barrier->boundary_ns = clock_monotonic_ns();
	set_state(barrier, BARRIER_WAITING);
	if (queue->last)
		queue->last->behind = barrier;
	else
		queue->first = barrier;
	queue->last = barrier;
	pthread_mutex_unlock(&queue->lock);
	sampler_wake_reader(queue->drain.arena);
	return 0;
}

/*
 * Cancel the barrier after a timeout. Returns 1 if it was cancelled, 0 if the worker has already
 * popped it.
 */
static int cancel_barrier(struct barrier *barrier)
{
	struct queue *queue = barrier->queue;
	int won;

	pthread_mutex_lock(&queue->lock);
	won = __atomic_load_n(&barrier->state, __ATOMIC_ACQUIRE) == BARRIER_WAITING;
	if (won) {
		unlink_barrier(queue, barrier);
		set_state(barrier, BARRIER_CANCELLED);
	}
	pthread_mutex_unlock(&queue->lock);
	return won;
}

int queue_wait(struct barrier *barrier, int timeout_ms)
{
	uint64_t deadline_ns =
		clock_monotonic_ns() + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0) * NS_PER_MS;
	int limited = timeout_ms >= 0;

	for (;;) {
		uint32_t state = __atomic_load_n(&barrier->state, __ATOMIC_ACQUIRE);
		uint64_t now_ns = limited ? clock_monotonic_ns() : 0;
		uint64_t remaining_ns = now_ns < deadline_ns ? deadline_ns - now_ns : 0;
		struct timespec rest = {(time_t)(remaining_ns / CLOCK_NS_PER_S),
			(long)(remaining_ns % CLOCK_NS_PER_S)};

		if (state == BARRIER_DONE)
			return barrier->error;
		if (state == BARRIER_CANCELLED)
			return -ECANCELED;
		if (limited && !remaining_ns) {
			if (cancel_barrier(barrier))
				return -ETIMEDOUT;
			/*
			 * The worker has popped the barrier and will complete it soon: wait without
			 * a limit.
			 */
			limited = 0;
			continue;
		}
		arch_syscall4(SYS_futex, &barrier->state, FUTEX_WAIT_PRIVATE, state,
			limited ? &rest : NULL);
	}
}

void queue_stop(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->stopped = 1;
	while (queue->first) {
		struct barrier *barrier = queue->first;

		unlink_barrier(queue, barrier);
		complete_barrier(barrier, BARRIER_CANCELLED);
	}
	pthread_mutex_unlock(&queue->lock);
}

uint64_t queue_boundary(struct queue *queue)
{
	uint64_t boundary_ns;

	pthread_mutex_lock(&queue->lock);
	boundary_ns = queue->first ? queue->first->boundary_ns : UINT64_MAX;
	pthread_mutex_unlock(&queue->lock);
	return boundary_ns;
}

struct barrier *queue_pop(struct queue *queue, uint64_t until_ns)
{
	struct barrier *barrier;

	pthread_mutex_lock(&queue->lock);
	barrier = queue->first;
	if (barrier && barrier->boundary_ns > until_ns)
		barrier = NULL;
	if (barrier) {
		unlink_barrier(queue, barrier);
		set_state(barrier, BARRIER_TAKEN);
	}
	pthread_mutex_unlock(&queue->lock);
	return barrier;
}

void queue_complete(struct barrier *barrier, int error, struct flameprof_profile *result)
{
	barrier->error = error;
	barrier->result = result;
	complete_barrier(barrier, BARRIER_DONE);
}
