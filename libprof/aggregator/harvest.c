/* SPDX-License-Identifier: MIT */
/*
 * Copying records out of a ring the handler goes on writing to.
 */
#include "libprof/aggregator/harvest.h"

#include <string.h>

#include "libprof/aggregator/pages.h"

/* One block: item, batch, records. */
#define HEADERS_BYTES (sizeof(struct queue_item) + sizeof(struct batch))

void harvest_begin(struct harvest *h, void *arena, uint32_t index, uint64_t until_ns)
{
	struct wire_ring *ring = wire_ring(arena, index);
	uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);

	*h = (struct harvest){
		.ring = ring,
		.data = wire_ring_data(arena, index),
		.index = index,
		.until_ns = until_ns,
		.head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE),
		.from = tail,
		.wrap = tail,
		.to = tail,
	};
}

static int is_whole(const struct wire_sample *sample, uint64_t rest)
{
	return sample->frames <= WIRE_MAX_DEPTH &&
		sample->bytes == sizeof(*sample) + 8u * sample->frames && sample->bytes <= rest;
}

/* Give up what lies between @h->to and the head: no record's begin can be found there any more. */
static void skip_damaged(struct harvest *h)
{
	h->damaged_bytes = h->head - h->to;
	h->to = h->head;
	harvest_give_back(h);
}

int harvest_measure(struct harvest *h, size_t batch_bytes)
{
	uint64_t turn = (h->to / WIRE_RING_SPAN + 1) * WIRE_RING_SPAN;
	struct wire_sample sample;
	int damaged = h->head - h->to > WIRE_RING_SPAN;

	h->from = h->to;
	h->wrap = 0;
	h->samples = 0;
	h->weight = 0;
	while (!damaged && h->to != h->head) {
		memcpy(&sample, h->data + h->to % WIRE_RING_SPAN, sizeof(sample));
		damaged = !is_whole(&sample, h->head - h->to);
		if (damaged || sample.time_ns > h->until_ns ||
			h->to - h->from + sample.bytes > batch_bytes)
			break;
		h->to += sample.bytes;
		h->samples++;
		h->weight += sample.weight;
		if (h->to >= turn && !h->wrap)
			h->wrap = h->to;
	}
	if (!h->wrap)
		h->wrap = h->to;
	if (damaged && h->from == h->to)
		skip_damaged(h);
	return h->samples != 0;
}

size_t harvest_block_bytes(const struct harvest *h)
{
	return pages_round(HEADERS_BYTES + (h->to - h->from));
}

void harvest_copy(const struct harvest *h, struct queue_item *item)
{
	struct batch *batch = (struct batch *)(item + 1);
	size_t first_bytes = h->wrap - h->from;

	item->kind = QUEUE_BATCH;
	item->batch = batch;
	batch->tid = h->ring->tid;
	batch->ring = h->index;
	batch->image = __atomic_load_n(&h->ring->owner, __ATOMIC_RELAXED) >> 2;
	batch->bytes = (uint32_t)(h->to - h->from);
	memcpy(batch->comm, h->ring->comm, sizeof(batch->comm));
	batch->comm[sizeof(batch->comm) - 1] = '\0';
	memcpy(batch->records, h->data + h->from % WIRE_RING_SPAN, first_bytes);
	memcpy(batch->records + first_bytes, h->data + h->wrap % WIRE_RING_SPAN, h->to - h->wrap);
}

void harvest_give_back(struct harvest *h)
{
	h->from = h->to;
	__atomic_store_n(&h->ring->tail, h->to, __ATOMIC_RELEASE);
}
