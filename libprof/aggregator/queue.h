/* SPDX-License-Identifier: MIT */
/*
 * What waits for the worker of a process that profiles itself: batches of samples taken out of the
 * rings, and flush barriers, in one first-in first-out queue.
 *
 *   rings ──queue_drain()──▶ [batch][batch][barrier][batch] ──queue_pop()──▶ profile
 *
 * Anybody may drain: the worker at its tick, a flush for its exact boundary. The handlers know
 * nothing of it. Bytes of waiting and of taken batches have one hard ceiling; a batch that would
 * pass it is dropped whole, newest first, and counted.
 *
 * `lock` protects every field below it, and the reading side of the rings. Nobody waits for
 * anything while holding it.
 */
#ifndef LIBPROF_AGGREGATOR_QUEUE_H
#define LIBPROF_AGGREGATOR_QUEUE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "libprof/wire_drain.h"

struct flameprof_profile;

/* Samples of one ring, records as in the ring. */
struct batch {
	uint32_t tid;
	uint32_t ring;
	uint64_t image; /* the ring's owner: the run of the profiler */
	char comm[WIRE_COMM_BYTES];
	uint32_t bytes; /* of records */
	char records[] __attribute__((aligned(8)));
};

enum queue_item_kind {
	QUEUE_BATCH,
	QUEUE_BARRIER,
};

/* A batch's lies in one block with it; a barrier's in the barrier. */
struct queue_item {
	enum queue_item_kind kind;
	uint32_t room_bytes; /* a batch's: of the block, whole pages */
	struct queue_item *next;
	union {
		struct batch *batch;
		struct barrier *barrier;
	};
};

/* Who takes a barrier first, its owner in vain or the worker for good, decides the queue's lock. */
enum barrier_state {
	BARRIER_WAITING = 0,
	BARRIER_TAKEN = 1, /* the worker is at it: `result` will come */
	BARRIER_DONE = 2,
	BARRIER_CANCELLED = 3, /* its owner timed out, or stop came: nothing was consumed */
};

/* Lies in the memory of the flush that waits for it. */
struct barrier {
	uint32_t state; /* atomic, futex: enum barrier_state; changes under the queue's lock */
	int error;      /* valid when DONE */
	struct flameprof_profile *next; /* an empty profile, made by the caller */
	struct flameprof_profile *result; /* the one that ended here, when DONE */
	uint64_t boundary_ns; /* CLOCK_MONOTONIC, by queue_add_barrier(): the profile ends here */
	struct queue *queue;	/* the queue's own business, as is: */
	struct queue_item item;
};

/* Since they were read last. */
struct queue_counters {
	uint64_t dropped_batches, dropped_samples, dropped_weight, dropped_bytes;
	uint64_t damaged_samples, damaged_bytes;
	uint64_t high_water_bytes;
};

struct queue {
	size_t limit_bytes;
	size_t batch_bytes; /* an eighth of the limit, at least one largest record */
	uint64_t image;	    /* whose rings are read */
	pthread_mutex_t lock;
	struct wire_drain drain;
	struct queue_item *first, *last;
	size_t pending_bytes; /* waiting and taken, whole pages, headers included */
	/* Blocks of batches that are done, kept for the next: a new one costs a page fault for
	 * every few samples. At most an eighth of the limit, not part of pending_bytes. */
	struct queue_item *spare;
	size_t spare_bytes;
	struct queue_counters counters;
	int stopped; /* new barriers are refused */
};

/*
 * To read the rings of @image in @arena (borrowed for the queue's life), whose pool has @blocks.
 * Returns 0.
 */
int queue_init(
	struct queue *queue, size_t limit_bytes, void *arena, uint32_t blocks, uint64_t image);
/* Throws away what still waits; barriers are cancelled. Nobody is in another call of this queue. */
void queue_release(struct queue *queue);

/*
 * Move what each ring of the image holds, up to the first record later than @until_ns, into
 * batches, and give the bytes back to the ring. A batch that would pass the ceiling, or for which
 * the kernel has no memory, is dropped. Behind a damaged record nothing can be told apart: the rest
 * is counted as damaged. Never blocks on anything but the lock.
 * Returns bytes moved, dropped or damaged.
 */
size_t queue_drain(struct queue *queue, uint64_t until_ns);

/*
 * Harvest all rings up to now, then queue @barrier behind them, in one step as seen by other
 * barriers. @barrier is all zero but for `next`, and stays where it is until queue_wait() returns.
 * Returns 0, or -ECANCELED when the queue was stopped: nothing was queued.
 */
int queue_add_barrier(struct queue *queue, struct barrier *barrier);

/*
 * Wait for @barrier at most @timeout_ms (-1: without limit).
 * Returns 0 with barrier->result owned by the caller, -ETIMEDOUT, -ECANCELED, or the worker's
 * error; on failure the worker will not touch @barrier any more and barrier->next is still the
 * caller's.
 */
int queue_wait(struct barrier *barrier, int timeout_ms);

/* Cancel every waiting barrier and refuse new ones: their owners wake with -ECANCELED. */
void queue_stop(struct queue *queue);

/* The worker's side: the oldest item, owned, NULL when there is none. Barriers come TAKEN. */
struct queue_item *queue_pop(struct queue *queue);
/* Done with a batch: its bytes no longer count. Frees @item and its batch. */
void queue_free_batch(struct queue *queue, struct queue_item *item);
/* Done with a barrier: hand over its result and wake its owner, who may free @item at once. */
void queue_complete(struct queue_item *item, int error, struct flameprof_profile *result);

/* Read and reset; the high water begins anew with what is pending now. */
void queue_counters_reset(struct queue *queue, struct queue_counters *out);

#endif
