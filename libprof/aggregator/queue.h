/* SPDX-License-Identifier: MIT */
/*
 * A queue of calls of flameprof_flush() that wait for the worker of a process that profiles itself.
 * A waiting call is called a barrier: the worker ends a profile at the time of the call. The queue
 * also has the worker's positions in the rings.
 *
 *   rings ──worker──▶ profile ──barrier──▶ flush
 *
 * `lock` protects the list of barriers. No thread waits while it holds `lock`.
 */
#ifndef LIBPROF_AGGREGATOR_QUEUE_H
#define LIBPROF_AGGREGATOR_QUEUE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "libprof/wire_drain.h"

struct flameprof_profile;

/*
 * State of a barrier. The thread that waits for the barrier may cancel it until the worker pops it.
 * Changes under the queue's lock.
 */
enum barrier_state {
	BARRIER_WAITING = 0,
	/* Popped by the worker, which will set `result`. */
	BARRIER_TAKEN = 1,
	BARRIER_DONE = 2,
	/* The waiting thread timed out, or queue_stop() was called. No profile was made. */
	BARRIER_CANCELLED = 3,
};

/* A waiting call of flameprof_flush(), in the memory of the waiting thread. */
struct barrier {
	/* enum barrier_state; atomic and a futex. It changes under the queue's lock. */
	uint32_t state;
	int error;			/* valid when DONE */
	struct flameprof_profile *next; /* an empty profile, made by the caller */
	/* The profile that ended at this barrier; valid when DONE. */
	struct flameprof_profile *result;
	/* CLOCK_MONOTONIC at the end of the profile, set by queue_add_barrier(). */
	uint64_t boundary_ns;
	struct queue *queue; /* private to the queue, like `behind` */
	struct barrier *behind;
};

struct queue {
	/* Number of the process image whose rings are drained. */
	uint64_t image;
	struct wire_drain drain; /* used by the worker only */
	pthread_mutex_t lock;
	struct barrier *first, *last;
	int stopped; /* queue_stop() was called */
};

/*
 * Initialise the queue for the rings of process image @image in @arena, whose pool has @blocks
 * blocks. @arena is borrowed until queue_release(). Returns 0 or -errno.
 */
int queue_init(struct queue *queue, void *arena, uint32_t blocks, uint64_t image);
/* Cancel all barriers and destroy the lock. No other call of this queue may be running. */
void queue_release(struct queue *queue);

/*
 * Queue @barrier and wake the worker. @barrier is zero except `next`, and must not be moved or
 * freed until queue_wait() returns. Sets the barrier's boundary to the current time.
 * Returns 0, or -ECANCELED with nothing queued if the queue was stopped.
 */
int queue_add_barrier(struct queue *queue, struct barrier *barrier);

/*
 * Wait at most @timeout_ms (-1: no limit) for @barrier.
 * Returns 0 with barrier->result owned by the caller; -ETIMEDOUT; -ECANCELED; or the worker's
 * error. After a failure the worker does not touch @barrier any more, and the caller owns
 * barrier->next.
 */
int queue_wait(struct barrier *barrier, int timeout_ms);

/* Cancel all waiting barriers and refuse new ones: their waiting threads get -ECANCELED. */
void queue_stop(struct queue *queue);

/* Returns the boundary of the oldest barrier; UINT64_MAX: there is none. Context: the worker. */
uint64_t queue_boundary(struct queue *queue);
/*
 * Remove the oldest barrier from the queue, make it TAKEN and return it. Returns NULL if no barrier
 * has a boundary up to @until_ns, because it was cancelled since queue_boundary(). Context: the
 * worker.
 */
struct barrier *queue_pop(struct queue *queue, uint64_t until_ns);
/*
 * Finish a popped barrier: set its result and wake the waiting thread, which may free @barrier at
 * once.
 */
void queue_complete(struct barrier *barrier, int error, struct flameprof_profile *result);

#endif
