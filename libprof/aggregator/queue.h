/* SPDX-License-Identifier: MIT */
/*
 * The queue between the rings and the worker of a process that profiles itself: batches of samples
 * and barriers of flameprof_flush(), first in, first out.
 *
 *   rings ──queue_drain()──▶ [batch][batch][barrier][batch] ──queue_pop()──▶ profile
 *
 * Any thread may drain the rings: the worker does so at its tick, flameprof_flush() up to its exact
 * boundary. Signal handlers do not use the queue. The bytes of queued and popped batches have a
 * hard limit; a batch that would exceed the limit is dropped as a whole and counted.
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
	/* Image number of the ring's owner; it changes with each start of the profiler. */
	uint64_t image;
	char comm[WIRE_COMM_BYTES];
	uint32_t bytes; /* of `records` */
	char records[] __attribute__((aligned(8)));
};

enum queue_item_kind {
	QUEUE_BATCH,
	QUEUE_BARRIER,
};

/* An item of the queue: in one block with its batch, or inside its barrier. */
struct queue_item {
	enum queue_item_kind kind;
	uint32_t room_bytes; /* size of a batch's block, whole pages */
	struct queue_item *next;
	union {
		struct batch *batch;
		struct barrier *barrier;
	};
};

/*
 * State of a barrier. The thread that waits for the barrier may cancel it until the worker pops it.
 * Changes under the queue's lock.
 */
enum barrier_state {
	BARRIER_WAITING = 0,
	/* Popped by the worker, which will set `result`. */
	BARRIER_TAKEN = 1,
	BARRIER_DONE = 2,
	/* The waiting thread timed out, or queue_stop() was called. The barrier used no samples. */
	BARRIER_CANCELLED = 3,
};

/* A barrier of flameprof_flush(), in the memory of the waiting thread. */
struct barrier {
	/* enum barrier_state; atomic and a futex. It changes under the queue's lock. */
	uint32_t state;
	int error;      /* valid when DONE */
	struct flameprof_profile *next; /* an empty profile, made by the caller */
	/* The profile that ended at this barrier; valid when DONE. */
	struct flameprof_profile *result;
	/* CLOCK_MONOTONIC at the end of the profile, set by queue_add_barrier(). */
	uint64_t boundary_ns;
	struct queue *queue; /* private to the queue, like `item` */
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
	/* Largest batch: an eighth of the limit, but at least one record of the largest size. */
	size_t batch_bytes;
	/* Number of the process image whose rings are drained. */
	uint64_t image;
	pthread_mutex_t lock;
	struct wire_drain drain;
	struct queue_item *first, *last;
	/* Bytes of queued and popped blocks: whole pages, headers included. */
	size_t pending_bytes;
	/*
	 * Blocks kept for later batches, because a new block costs a page fault every few samples.
	 * At most an eighth of the limit; not part of pending_bytes.
	 */
	struct queue_item *spare;
	size_t spare_bytes;
	struct queue_counters counters;
	int stopped; /* queue_stop() was called */
};

/*
 * Initialise the queue for the rings of process image @image in @arena, whose pool has @blocks
 * blocks. @arena is borrowed until queue_release(). Returns 0 or -errno.
 */
int queue_init(
	struct queue *queue, size_t limit_bytes, void *arena, uint32_t blocks, uint64_t image);
/* Discard queued batches and cancel barriers. No other call of this queue may be running. */
void queue_release(struct queue *queue);

/*
 * Move records of every ring of the image into batches and free their bytes in the ring; stop in
 * each ring at the first record later than @until_ns. A batch that would exceed the limit or gets
 * no memory is dropped. A damaged record hides where the next one begins, so the ring's other bytes
 * are counted as damaged. Waits only for the lock.
 * Returns the number of bytes moved, dropped or damaged.
 */
size_t queue_drain(struct queue *queue, uint64_t until_ns);

/*
 * Drain all rings up to now and append @barrier behind the batches. Both happen under one lock, so
 * that no other barrier can come between. @barrier is zero except `next`, and must not be moved or
 * freed until queue_wait() returns.
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

/*
 * Returns the oldest item, owned by the worker, or NULL. A popped barrier becomes TAKEN. Context:
 * the worker.
 */
struct queue_item *queue_pop(struct queue *queue);
/* Free @item and its batch, which no longer count in pending_bytes. */
void queue_free_batch(struct queue *queue, struct queue_item *item);
/*
 * Finish a popped barrier: set its result and wake the waiting thread, which may free @item at
 * once.
 */
void queue_complete(struct queue_item *item, int error, struct flameprof_profile *result);

/* Read and reset the counters; high_water_bytes is reset to pending_bytes. */
void queue_counters_reset(struct queue *queue, struct queue_counters *out);

#endif
