/* SPDX-License-Identifier: MIT */
/*
 * The queue of batches and barriers: making batches, the order of items, completing barriers.
 *
 * Blocks of batches are reused, because a fresh mapping per batch cost 878 ns per sample, a reused
 * block 36 to 88, the copy alone 7 to 24.
 */
#include "libprof/aggregator/queue.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "arch/syscall.h"
#include "libprof/profile/lookup.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/sampler.h"

/* ---- one ring into batches ------------------------------------------------------------------- */
/*
 * Moves one ring's records into batches, piece by piece: measure a piece, copy or drop it as a
 * whole, then free it in the ring. Records are checked in the ring, and again in the copy by the
 * reader of the batch, because a damaged program may change the ring between the two.
 *
 * Context: the ring's only reader, by the queue's lock.
 */

struct ring_drain {
	struct wire_drain *drain;
	struct wire_drain_pass pass;
	uint64_t until_ns;
	/* The piece measured last: consecutive records in one block. */
	const char *records;
	uint32_t bytes;
	uint64_t samples, weight;
	int is_damaged;		/* a record was invalid */
	uint64_t damaged_bytes; /* bytes skipped behind that record */
};

/* A block holds a queue_item, a batch and the batch's records. */
#define HEADERS_BYTES (sizeof(struct queue_item) + sizeof(struct batch))

/* Begin a pass over ring @index. Returns 0 if the ring does not belong to @image. */
static int ring_drain_begin(struct ring_drain *h, struct wire_drain *drain, uint32_t index,
	uint64_t image, uint64_t until_ns)
{
	*h = (struct ring_drain){.drain = drain, .until_ns = until_ns};
	return wire_drain_begin(drain, index, &h->pass) && h->pass.owner >> 2 == image;
}

/* Returns the number of written bytes from the reader's position to the end of its block. */
static uint32_t bytes_in_block(const struct ring_drain *h)
{
	uint32_t limit = wire_drain_limit(h->drain, &h->pass);
	uint32_t at = h->drain->position[h->pass.index].at;

	return limit <= WIRE_BLOCK_BYTES && limit > at ? limit - at : 0;
}

/*
 * Measure the next piece: as many records as fit into @batch_bytes and are not later than until_ns.
 * Returns 0 if there is no such record. If the next record is damaged, wire_drain_next() has
 * skipped the ring's other records, which are counted here.
 */
static int ring_drain_measure(struct ring_drain *h, size_t batch_bytes)
{
	uint64_t before = h->pass.taken;
	struct wire_sample sample;
	enum wire_drain_step step = wire_drain_next(h->drain, &h->pass, &sample);
	uint32_t limit;

	h->bytes = 0;
	h->samples = 0;
	h->weight = 0;
	if (step == WIRE_DRAIN_DAMAGED) {
		h->is_damaged = 1;
		h->damaged_bytes = h->pass.taken - before;
	}
	if (step != WIRE_DRAIN_RECORD)
		return 0;
	h->records = wire_drain_frames(h->drain, &h->pass) - sizeof(sample);
	limit = bytes_in_block(h);
	while (wire_sample_is_whole(&sample, limit - h->bytes) && sample.time_ns <= h->until_ns &&
		h->bytes + sample.bytes <= batch_bytes) {
		h->bytes += sample.bytes;
		h->samples++;
		h->weight += sample.weight;
		if (limit - h->bytes < sizeof(sample))
			break;
		wire_copy(&sample, h->records + h->bytes, sizeof(sample));
	}
	return h->samples != 0;
}

/* Returns the size of a new block for the measured piece, headers included. */
static size_t ring_drain_block_bytes(const struct ring_drain *h)
{
	return pages_round(HEADERS_BYTES + h->bytes);
}

/* Copy the piece into @item, a block of at least ring_drain_block_bytes(). */
static void ring_drain_copy(const struct ring_drain *h, struct queue_item *item)
{
	const struct wire_ring *ring = wire_ring(h->drain->arena, h->pass.index);
	struct batch *batch = (struct batch *)(item + 1);

	item->kind = QUEUE_BATCH;
	item->batch = batch;
	batch->tid = ring->tid;
	batch->ring = h->pass.index;
	batch->image = h->pass.owner >> 2;
	batch->bytes = h->bytes;
	memcpy(batch->comm, ring->comm, sizeof(batch->comm));
	batch->comm[sizeof(batch->comm) - 1] = '\0';
	memcpy(batch->records, h->records, h->bytes);
}

static void ring_drain_skip(struct ring_drain *h)
{
	wire_drain_skip(h->drain, &h->pass, h->bytes);
}

static void ring_drain_end(struct ring_drain *h)
{
	wire_drain_end(h->drain, &h->pass);
}

/* ---- the queue ------------------------------------------------------------------------------- */

#define NS_PER_MS 1000000ULL

int queue_init(
	struct queue *queue, size_t limit_bytes, void *arena, uint32_t blocks, uint64_t image)
{
	*queue = (struct queue){
		.limit_bytes = limit_bytes,
		.batch_bytes =
			limit_bytes / 8 > WIRE_RECORD_MAX ? limit_bytes / 8 : WIRE_RECORD_MAX,
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

/* Context: the queue's lock is held. */
static void append_item(struct queue *queue, struct queue_item *item)
{
	item->next = NULL;
	if (queue->last)
		queue->last->next = item;
	else
		queue->first = item;
	queue->last = item;
}

/* Remove @item, which must be in the queue. Context: the queue's lock is held. */
static void unlink_item(struct queue *queue, const struct queue_item *item)
{
	struct queue_item *before = NULL;

	if (queue->first == item) {
		queue->first = item->next;
	} else {
		for (before = queue->first; before->next != item;)
			before = before->next;
		before->next = item->next;
	}
	if (queue->last == item)
		queue->last = before;
}

/* Context: the queue's lock is held. */
static void cancel_barriers(struct queue *queue)
{
	struct queue_item *item = queue->first;

	while (item) {
		struct queue_item *next = item->next;

		if (item->kind == QUEUE_BARRIER) {
			unlink_item(queue, item);
			complete_barrier(item->barrier, BARRIER_CANCELLED);
		}
		item = next;
	}
}

void queue_release(struct queue *queue)
{
	struct queue_item *item;

	queue_stop(queue);
	while ((item = queue_pop(queue)))
		queue_free_batch(queue, item);
	while ((item = queue->spare)) {
		queue->spare = item->next;
		pages_free(item, item->room_bytes);
	}
	pthread_mutex_destroy(&queue->lock);
}

/* Do not use a spare block that is more than this many times larger than needed. */
#define SPARE_FIT 4

/*
 * Returns a block of @bytes or more; NULL if the queue's limit is reached or without memory.
 * Context: the queue's lock is held.
 */
static struct queue_item *alloc_block(struct queue *queue, size_t bytes)
{
	struct queue_item *item;

	for (struct queue_item **at = &queue->spare; (item = *at); at = &item->next) {
		if (item->room_bytes < bytes || item->room_bytes > SPARE_FIT * bytes ||
			queue->pending_bytes + item->room_bytes > queue->limit_bytes)
			continue;
		*at = item->next;
		queue->spare_bytes -= item->room_bytes;
		return item;
	}
	if (queue->pending_bytes + bytes > queue->limit_bytes)
		return NULL;
	item = pages_new(bytes);
	if (item)
		item->room_bytes = (uint32_t)bytes;
	return item;
}

/*
 * Returns 1 if @item is kept for a later batch; otherwise the caller must free it. Context: the
 * queue's lock is held.
 */
static int cache_block(struct queue *queue, struct queue_item *item)
{
	if (queue->spare_bytes + item->room_bytes > queue->limit_bytes / 8)
		return 0;
	item->next = queue->spare;
	queue->spare = item;
	queue->spare_bytes += item->room_bytes;
	return 1;
}

/*
 * Move the records of @ring up to @until_ns into batches. Returns the bytes read from the ring;
 * sets *@queued to 1 if a batch was queued. Context: the queue's lock is held.
 */
static size_t ring_drain(struct queue *queue, uint32_t ring, uint64_t until_ns, int *queued)
{
	struct ring_drain h;
	size_t bytes = 0;

	if (!ring_drain_begin(&h, &queue->drain, ring, queue->image, until_ns))
		return 0;
	while (ring_drain_measure(&h, queue->batch_bytes)) {
		size_t block = ring_drain_block_bytes(&h);
		struct queue_item *item = alloc_block(queue, block);
		size_t with_it = queue->pending_bytes + (item ? item->room_bytes : block);

		if (with_it > queue->counters.high_water_bytes)
			queue->counters.high_water_bytes = with_it;
		if (item) {
			ring_drain_copy(&h, item);
			append_item(queue, item);
			queue->pending_bytes = with_it;
			*queued = 1;
		} else {
			queue->counters.dropped_batches++;
			queue->counters.dropped_samples += h.samples;
			queue->counters.dropped_weight += h.weight;
			queue->counters.dropped_bytes += h.bytes;
		}
		bytes += h.bytes;
		ring_drain_skip(&h);
	}
	ring_drain_end(&h);
	queue->counters.damaged_samples += (uint64_t)h.is_damaged;
	queue->counters.damaged_bytes += h.damaged_bytes;
	return bytes + h.damaged_bytes;
}

/* Context: the queue's lock is held. */
static size_t ring_drain_all(struct queue *queue, uint64_t until_ns, int *queued)
{
	uint32_t high = wire_rings_high(queue->drain.arena);
	size_t bytes = 0;

	for (uint32_t i = 0; i < high; i++)
		bytes += ring_drain(queue, i, until_ns, queued);
	return bytes;
}

size_t queue_drain(struct queue *queue, uint64_t until_ns)
{
	int queued = 0;
	size_t bytes;

	pthread_mutex_lock(&queue->lock);
	bytes = ring_drain_all(queue, until_ns, &queued);
	pthread_mutex_unlock(&queue->lock);
	if (queued)
		sampler_wake_reader(queue->drain.arena);
	return bytes;
}

int queue_add_barrier(struct queue *queue, struct barrier *barrier)
{
	int queued = 0;

	pthread_mutex_lock(&queue->lock);
	if (queue->stopped) {
		pthread_mutex_unlock(&queue->lock);
		return -ECANCELED;
	}
	barrier->queue = queue;
	barrier->item = (struct queue_item){.kind = QUEUE_BARRIER, .barrier = barrier};
	/* Read the time under the lock, so that later barriers have later boundaries. */
	barrier->boundary_ns = clock_monotonic_ns();
	set_state(barrier, BARRIER_WAITING);
	ring_drain_all(queue, barrier->boundary_ns, &queued);
	append_item(queue, &barrier->item);
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
		unlink_item(queue, &barrier->item);
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
	cancel_barriers(queue);
	pthread_mutex_unlock(&queue->lock);
}

struct queue_item *queue_pop(struct queue *queue)
{
	struct queue_item *item;

	pthread_mutex_lock(&queue->lock);
	item = queue->first;
	if (item) {
		unlink_item(queue, item);
		if (item->kind == QUEUE_BARRIER)
			set_state(item->barrier, BARRIER_TAKEN);
	}
	pthread_mutex_unlock(&queue->lock);
	return item;
}

void queue_free_batch(struct queue *queue, struct queue_item *item)
{
	int kept;

	pthread_mutex_lock(&queue->lock);
	queue->pending_bytes -= item->room_bytes;
	kept = cache_block(queue, item);
	pthread_mutex_unlock(&queue->lock);
	if (!kept)
		pages_free(item, item->room_bytes);
}

void queue_complete(struct queue_item *item, int error, struct flameprof_profile *result)
{
	struct barrier *barrier = item->barrier;

	barrier->error = error;
	barrier->result = result;
	complete_barrier(barrier, BARRIER_DONE);
}

void queue_counters_reset(struct queue *queue, struct queue_counters *out)
{
	pthread_mutex_lock(&queue->lock);
	*out = queue->counters;
	queue->counters = (struct queue_counters){.high_water_bytes = queue->pending_bytes};
	pthread_mutex_unlock(&queue->lock);
}
