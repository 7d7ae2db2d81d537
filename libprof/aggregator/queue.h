/* SPDX-License-Identifier: MIT */
/*
 * The queue between the rings and the worker of a process that profiles itself: batches of samples
 * and flush barriers, first in, first out.
 *
 *   rings ──queue_drain()──▶ [batch][batch][barrier][batch] ──queue_pop()──▶ profile
 *
 * Any thread may drain: the worker at its tick, a flush up to its exact boundary. Handlers do not
 * use the queue. The bytes of queued and popped batches have a hard limit; a batch that would
 * exceed it is dropped whole and counted.
 *
 * `lock` protects every field below it and the reader's side of the rings. No thread waits while it
 * holds `lock`.
 */
#ifndef LIBPROF_AGGREGATOR_QUEUE_H
#define LIBPROF_AGGREGATOR_QUEUE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "libprof/wire_drain.h"

struct flameprof_profile;

/* Samples of one ring, in the ring's record format. */
struct batch {
	uint32_t tid;
	uint32_t ring;
	uint64_t image; /* the ring's owner: the profiler's run */
	char comm[WIRE_COMM_BYTES];
	uint32_t bytes; /* of `records` */
	char records[] __attribute__((aligned(8)));
};

enum queue_item_kind {
	QUEUE_BATCH,
	QUEUE_BARRIER,
};

/* An item: in one block with its batch, or inside its barrier. */
struct queue_item {
	enum queue_item_kind kind;
	uint32_t room_bytes; /* of a batch's block, whole pages */
	struct queue_item *next;
	union {
		struct batch *batch;
		struct barrier *barrier;
	};
};

/* State of a barrier. Its owner may cancel it until the worker pops it, under the queue's lock. */
enum barrier_state {
	BARRIER_WAITING = 0,
	BARRIER_TAKEN = 1, /* popped by the worker: `result` will be set */
	BARRIER_DONE = 2,
	BARRIER_CANCELLED = 3, /* its owner timed out, or stop was called: no samples used */
};

/* A flush's barrier, in the memory of the waiting thread. */
struct barrier {
	uint32_t state; /* atomic, futex: enum barrier_state; changes under the queue's lock */
	int error;      /* valid when DONE */
	struct flameprof_profile *next; /* an empty profile, made by the caller */
	struct flameprof_profile *result; /* the profile that ended here, when DONE */
	uint64_t boundary_ns; /* CLOCK_MONOTONIC, set by queue_add_barrier(): end of the profile */
	struct queue *queue;	/* private to the queue, as is `item` */
	struct queue_item item;
};

/* Counters since the last read. */
struct queue_counters {
	uint64_t dropped_batches, dropped_samples, dropped_weight, dropped_bytes;
	uint64_t damaged_samples, damaged_bytes;
	uint64_t high_water_bytes;
};

struct queue {
	size_t limit_bytes;
	size_t batch_bytes; /* an eighth of the limit, at least one largest record */
	uint64_t image;	    /* image whose rings are drained */
	pthread_mutex_t lock;
	struct wire_drain drain;
	struct queue_item *first, *last;
	size_t pending_bytes; /* queued and popped, whole pages, headers included */
	/* Blocks kept for later batches, because a new one costs a page fault every few samples.
	 * At most an eighth of the limit, not part of pending_bytes. */
	struct queue_item *spare;
	size_t spare_bytes;
	struct queue_counters counters;
	int stopped; /* new barriers are refused */
};

/*
 * Initialise the queue for the rings of @image in @arena (borrowed for the queue's life), whose
 * pool has @blocks. Returns 0 or -errno.
 */
int queue_init(
	struct queue *queue, size_t limit_bytes, void *arena, uint32_t blocks, uint64_t image);
/* Discard queued batches and cancel barriers. No other call of this queue may be running. */
void queue_release(struct queue *queue);

/*
 * Move the records of every ring of the image, up to the first one later than @until_ns, into
 * batches and free their bytes in the ring. A batch beyond the limit or without memory is dropped.
 * Record boundaries are lost behind a damaged record: the rest is counted as damaged. Waits only
 * for the lock.
 * Returns bytes moved, dropped or damaged.
 */
size_t queue_drain(struct queue *queue, uint64_t until_ns);

/*
 * Drain all rings up to now and queue @barrier behind the batches, as one step for other barriers.
 * @barrier is zero except `next` and must stay in place until queue_wait() returns.
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

/* Cancel all waiting barriers (-ECANCELED to their owners) and refuse new ones. */
void queue_stop(struct queue *queue);

/* For the worker: returns the oldest item, owned, or NULL. A barrier becomes TAKEN. */
struct queue_item *queue_pop(struct queue *queue);
/* Free @item and its batch; its bytes no longer count. */
void queue_free_batch(struct queue *queue, struct queue_item *item);
/* Finish a barrier: set its result and wake its owner, which may free @item at once. */
void queue_complete(struct queue_item *item, int error, struct flameprof_profile *result);

/* Read and reset the counters; high_water_bytes restarts at the bytes pending now. */
void queue_counters_reset(struct queue *queue, struct queue_counters *out);

#endif
